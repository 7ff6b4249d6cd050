#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "apps/input/arguments.hpp"
#include "basalt/lu.hpp"
#include "basalt/runtime.hpp"

namespace basalt {

/// A value that an environment variable (BASALT_...) sets, or an option of the same meaning, which has precedence.
struct SettingInfo {
    std::string variable;  ///< e.g. "BASALT_WORKERS"
    std::string option;    ///< e.g. "--cpus"; empty: there is none
    std::string initial;   ///< the default, as text
    std::string meaning;
    /// Throws WrongUse unless `text` is allowed; `name` is the option or variable that the user wrote.
    void (*check)(std::string_view name, std::string_view text);
};

/// All settings, in the order in which `basalt info` shows them.
const std::vector<SettingInfo>& setting_table();

/// The value of every setting and where it came from. Values are checked when they are set.
class Settings {
  public:
    struct Value {
        std::string text;
        std::string origin;  ///< "default", the environment variable or the option
    };

    /// Takes the BASALT_... variables of `environment`, a null-terminated list of NAME=VALUE.
    explicit Settings(const char* const* environment);

    /// Throws WrongUse if the environment had a name that is not in the table or a value that is not allowed. Separate
    /// from the constructor, so that a bad variable does not keep --help from working.
    void require_good_environment() const;

    /// Throws WrongUse if `text` is not allowed. `variable` is a name of the table.
    void set(const std::string& variable, std::string_view text, const std::string& origin);

    const Value& value(const std::string& variable) const { return values_.at(variable); }
    const std::string& text(const std::string& variable) const { return value(variable).text; }
    /// Whether the command line names the setting. What the environment says is for all commands.
    bool given(const std::string& variable) const { return value(variable).origin.starts_with("--"); }
    Index integer(const std::string& variable) const;
    /// 0 x 0 if the library chooses.
    TileShape tile() const;
    LuOptions lu_options() const;
    /// The file of models; empty: none.
    std::string models_path() const;

    /// The runtime that the settings ask for. Throws UsageError for a tuning file with errors, and WrongUse for a
    /// models file that the user named and that cannot serve.
    Config runtime_config() const;

  private:
    void require_usable_models() const;

    std::string environment_error_;  ///< the first one; empty: none
    std::map<std::string, Value> values_;
};

}  // namespace basalt
