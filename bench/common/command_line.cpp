#include "bench/common/command_line.hpp"

#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include <CLI/CLI.hpp>

namespace bench {

CommandOption CommandOption::list() const {
    option_->delimiter(',');
    return *this;
}

template <class T>
CommandOption CommandOption::range(T least, T most) const {
    option_->check(CLI::Range(least, most));
    return *this;
}

template CommandOption CommandOption::range(int, int) const;
template CommandOption CommandOption::range(std::int64_t, std::int64_t) const;
template CommandOption CommandOption::range(std::uint64_t, std::uint64_t) const;
template CommandOption CommandOption::range(double, double) const;

CommandOption CommandOption::non_negative() const {
    option_->check(CLI::NonNegativeNumber);
    return *this;
}

CommandOption CommandOption::one_of(const std::vector<std::string>& allowed) const {
    option_->check(CLI::IsMember(allowed));
    return *this;
}

CommandOption CommandOption::check(const std::function<std::string(const std::string&)>& complaint,
                                   const std::string& form) const {
    option_->check(CLI::Validator([complaint](std::string& text) { return complaint(text); }, form));
    return *this;
}

CommandOption CommandOption::byte_size(Kilo kilo) const {
    option_->transform(CLI::AsSizeValue(kilo == Kilo::is_1000));
    return *this;
}

CommandOption CommandOption::excludes(CommandOption other) const {
    option_->excludes(other.option_);
    return *this;
}

CommandOption CommandOption::hidden() const {
    option_->group("");
    return *this;
}

template <class T>
CommandOption Command::add_option(const std::string& name, T& variable, const std::string& text) const {
    return CommandOption(*app_->add_option(name, variable, text));
}

template CommandOption Command::add_option(const std::string&, int&, const std::string&) const;
template CommandOption Command::add_option(const std::string&, std::int64_t&, const std::string&) const;
template CommandOption Command::add_option(const std::string&, std::uint64_t&, const std::string&) const;
template CommandOption Command::add_option(const std::string&, double&, const std::string&) const;
template CommandOption Command::add_option(const std::string&, std::string&, const std::string&) const;
template CommandOption Command::add_option(const std::string&, std::vector<int>&, const std::string&) const;
template CommandOption Command::add_option(const std::string&, std::vector<std::int64_t>&, const std::string&) const;
template CommandOption Command::add_option(const std::string&, std::vector<std::uint64_t>&, const std::string&) const;
template CommandOption Command::add_option(const std::string&, std::vector<double>&, const std::string&) const;
template CommandOption Command::add_option(const std::string&, std::vector<std::string>&, const std::string&) const;
template CommandOption Command::add_option(const std::string&, char&, const std::string&) const;
template CommandOption Command::add_option(const std::string&, std::optional<int>&, const std::string&) const;
template CommandOption Command::add_option(const std::string&, std::optional<std::int64_t>&, const std::string&) const;
template CommandOption Command::add_option(const std::string&, std::optional<double>&, const std::string&) const;

CommandOption Command::add_option_function(const std::string& name, const std::function<void(const std::string&)>& take,
                                           const std::string& text) const {
    return CommandOption(*app_->add_option_function<std::string>(name, take, text));
}

CommandOption Command::add_flag(const std::string& name, bool& variable, const std::string& text) const {
    return CommandOption(*app_->add_flag(name, variable, text));
}

CommandOption Command::add_flag_callback(const std::string& name, const std::function<void()>& call,
                                         const std::string& text) const {
    return CommandOption(*app_->add_flag_callback(name, call, text));
}

Command Command::add_subcommand(const std::string& name, const std::string& text) const {
    return Command(*app_->add_subcommand(name, text));
}

std::string Command::name() const { return app_->get_name(); }

bool Command::parsed() const { return app_->parsed(); }

bool Command::has(const std::string& option) const { return app_->count(option) > 0; }

CommandLine::CommandLine(const std::string& text, const std::string& name)
    : CommandLine(std::make_unique<CLI::App>(text, name)) {}

CommandLine::CommandLine(std::unique_ptr<CLI::App> app) : Command(*app), owner_(std::move(app)) {}

CommandLine::~CommandLine() = default;

void CommandLine::require_subcommand() { app_->require_subcommand(1); }

Command CommandLine::subcommand() const { return Command(*app_->get_subcommands().front()); }

int CommandLine::run_program(int argc, char** argv, const std::function<int()>& run) {
    const auto fail = [this](int status, const char* message) {
        std::fprintf(stderr, "%s: %s\n", name().c_str(), message);
        return status;
    };
    try {
        app_->parse(argc, argv);
        return run();
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) return app_->exit(error);
        fail(2, error.what());
        std::fprintf(stderr, "Allowed options: %s --help\n", name().c_str());
        return 2;
    } catch (const std::invalid_argument& error) {
        return fail(2, error.what());
    } catch (const std::bad_alloc&) {
        return fail(3, "not enough memory");
    } catch (const std::exception& error) {
        return fail(3, error.what());
    }
}

}  // namespace bench
