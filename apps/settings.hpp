#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "apps/arguments.hpp"
#include "basalt/lu.hpp"
#include "basalt/runtime.hpp"

namespace basalt {

/// What can be set by the environment (BASALT_...) and, with precedence, by an option of the same meaning.
struct SettingInfo {
    std::string variable;  ///< e.g. "BASALT_WORKERS"
    std::string option;    ///< e.g. "--cpus"; empty where there is none
    std::string initial;   ///< the default, as text
    std::string meaning;
    /// Throws WrongUse unless `text` is allowed; `name` is what the user called the setting.
    void (*check)(std::string_view name, std::string_view text);
};

/// All settings, in the order to show them in. The one place that knows them.
const std::vector<SettingInfo>& setting_table();

/// The value of every setting and where it came from. Values are checked when they are set.
class Settings {
  public:
    struct Value {
        std::string text;
        std::string origin;  ///< "default", the environment variable or the option
    };

    /// Takes the BASALT_... variables of `environment`, a null-terminated list of NAME=VALUE.
    /// Throws WrongUse for a name that is not in the table and for a value that is not allowed.
    explicit Settings(const char* const* environment);

    /// Throws WrongUse where `text` is not allowed. `variable` is a name of the table.
    void set(const std::string& variable, std::string_view text, const std::string& origin);

    const Value& value(const std::string& variable) const { return values_.at(variable); }
    const std::string& text(const std::string& variable) const { return value(variable).text; }
    Index integer(const std::string& variable) const;
    /// 0 x 0 where the library chooses.
    TileShape tile() const;
    LuOptions lu_options() const;

    /// The runtime that the settings ask for. Throws UsageError for a tuning file that is not allowed.
    Config runtime_config() const;

  private:
    std::map<std::string, Value> values_;
};

}  // namespace basalt
