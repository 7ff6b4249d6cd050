#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace bench {

/// Of KB: KiB is 1024 in both.
enum class Kilo { is_1000, is_1024 };

/// An option of a command line.
class CommandOption {
  public:
    explicit CommandOption(CLI::Option& option) : option_(&option) {}

    /// Takes several values, separated by commas.
    CommandOption list() const;
    /// Allows values from `least` to `most`: int, std::int64_t, std::uint64_t or double.
    template <class T>
    CommandOption range(T least, T most) const;
    CommandOption non_negative() const;
    CommandOption one_of(const std::vector<std::string>& allowed) const;
    /// Allows the texts for which `complaint` returns an empty one; --help shows `form` for the value.
    CommandOption check(const std::function<std::string(const std::string&)>& complaint, const std::string& form) const;
    /// Takes a number of bytes with a unit such as KiB or MB.
    CommandOption byte_size(Kilo kilo) const;
    CommandOption excludes(CommandOption other) const;
    /// Leaves the option out of --help.
    CommandOption hidden() const;

  private:
    CLI::Option* option_;
};

/// The command of a command line, or a subcommand of it. Variables of options must outlive the parse.
class Command {
  public:
    explicit Command(CLI::App& app) : app_(&app) {}

    /// T is int, std::int64_t, std::uint64_t, double or std::string, a vector of one of these, char, or an optional
    /// int or std::int64_t.
    template <class T>
    CommandOption add_option(const std::string& name, T& variable, const std::string& text) const;
    CommandOption add_option_function(const std::string& name, const std::function<void(const std::string&)>& take,
                                      const std::string& text) const;
    /// A name that begins with ! clears the variable.
    CommandOption add_flag(const std::string& name, bool& variable, const std::string& text = {}) const;
    CommandOption add_flag_callback(const std::string& name, const std::function<void()>& call,
                                    const std::string& text) const;
    Command add_subcommand(const std::string& name, const std::string& text) const;

    std::string name() const;
    /// After the parse: whether this subcommand was called.
    bool parsed() const;
    /// After the parse: whether the option was given.
    bool has(const std::string& option) const;

  protected:
    CLI::App* app_;
};

/// The command line of a bench. Only its source includes CLI11, which takes 10 s to compile.
class CommandLine : public Command {
  public:
    CommandLine(const std::string& text, const std::string& name);
    ~CommandLine();
    CommandLine(const CommandLine&) = delete;
    CommandLine& operator=(const CommandLine&) = delete;

    /// The bench must be called with one of its subcommands.
    void require_subcommand();
    /// After the parse: the subcommand that was called.
    Command subcommand() const;

    /// A bench's main: parses the command line and calls run(), which returns the exit status. Other statuses: 0 after
    /// --help; 2 for wrong use (a parse error, or std::invalid_argument from run()), with option, value and the allowed
    /// values on stderr; 3 for other exceptions.
    int run_program(int argc, char** argv, const std::function<int()>& run);

  private:
    explicit CommandLine(std::unique_ptr<CLI::App> app);
    std::unique_ptr<CLI::App> owner_;
};

}  // namespace bench
