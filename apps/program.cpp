#include "apps/program.hpp"

#include <cstdio>
#include <iostream>
#include <new>

#include <unistd.h>

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "apps/exit_status.hpp"
#include "apps/input/option_names.hpp"
#include "basalt/error.hpp"
#include "basalt/version.hpp"
#include "base/build_commit.hpp"
#include "io/files/quoted_text.hpp"
#include "io/files/standard_streams.hpp"

namespace basalt {

namespace {

std::string option_names(const CLI::App& command) {
    std::vector<std::string> names;
    for (const auto* option : command.get_options()) names.push_back(option->get_name());
    return joined(names);
}

std::string subcommand_names(const CLI::App& program) {
    std::vector<std::string> names;
    for (const auto* command : program.get_subcommands({})) names.push_back(command->get_name());
    return joined(names);
}

/// The subcommand on the command line, or the program itself.
const CLI::App& parsed_command(const CLI::App& program) {
    const auto chosen = program.get_subcommands();
    return chosen.empty() ? program : *chosen.front();
}

/// The message for a command line that CLI11 refuses: the word, and what is allowed instead.
std::string explain(const CLI::App& program, const CLI::ParseError& error) {
    const CLI::App& command = parsed_command(program);
    const auto extras = program.remaining(true);
    if (!extras.empty()) {
        const std::string word = cut_text(extras.front());
        return &command == &program
                   ? fmt::format("{}: no such subcommand or option; allowed: {}", word, subcommand_names(program))
                   : fmt::format("{}: not allowed for {}; allowed: {}", word, command.get_name(),
                                 option_names(command));
    }
    return fmt::format("{}; allowed: see basalt {}--help", cut_text(error.what()),
                       &command == &program ? "" : command.get_name() + " ");
}

void configure_log(bool verbose) {
    spdlog::set_default_logger(spdlog::stderr_color_mt("basalt"));
    spdlog::set_pattern("basalt: %v");
    spdlog::set_level(verbose ? spdlog::level::debug : spdlog::level::warn);
}

/// --help, --version and --verbose are allowed everywhere.
void add_common_flags(CLI::App& command, Settings& settings) {
    command.set_help_flag("-h,--help", "print this and stop");
    command.set_version_flag("--version", fmt::format("basalt {} ({})", version, build_commit),
                             "print the version and stop");
    command.add_flag_function(
        "-v,--verbose", [&settings](std::int64_t) { settings.set("BASALT_VERBOSE", "1", "--verbose"); },
        "say more about what happens");
}

int run(int argc, char** argv, std::span<const AddCommand> commands) {
    Settings settings(environ);
    CLI::App program("Basalt: dense factorizations on all the cores and GPUs of a machine", "basalt");
    Command chosen;
    for (const AddCommand add : commands) add(program, settings, chosen);
    program.require_subcommand(0, 1);
    program.footer(
        "basalt SUBCOMMAND --help lists its options; basalt info lists the environment variables that set them too.\n"
        "Exit status: 0 done and checked, 1 a check failed, 2 wrong use, 3 the machine could not do it.");
    add_common_flags(program, settings);
    for (auto* command : program.get_subcommands({})) add_common_flags(*command, settings);
    try {
        program.parse(argc, argv);
    } catch (const CLI::Success& success) {  // --help, --version
        return program.exit(success);
    } catch (const CLI::ParseError& error) {
        throw WrongUse(explain(program, error));
    }
    settings.require_good_environment();
    if (!chosen) throw WrongUse(fmt::format("no subcommand; allowed: {}", subcommand_names(program)));
    configure_log(settings.integer("BASALT_VERBOSE") != 0);
    try {
        return chosen();
    } catch (const UsageError& error) {
        throw WrongUse(in_terms_of_options(error.what(), settings));
    }
}

int report(int status, const char* message) {
    std::cout.flush();
    std::fprintf(stderr, "basalt: %s\n", message);
    return status;
}

int guarded_run(int argc, char** argv, std::span<const AddCommand> commands) {
    try {
        const int status = run(argc, argv, commands);
        std::cout.flush();
        return std::cout ? status : report(exit_machine_failed, "standard output could not be written");
    } catch (const WrongUse& error) {
        return report(exit_wrong_use, error.what());
    } catch (const UsageError& error) {
        return report(exit_wrong_use, error.what());
    } catch (const Interrupted& stopped) {
        return report(stopped.status(), stopped.what());
    } catch (const std::bad_alloc&) {
        return report(exit_machine_failed, "out of memory");
    } catch (const std::exception& error) {  // MachineFailure, TaskError and unexpected ones
        return report(exit_machine_failed, error.what());
    }
}

}  // namespace

void run_program(int argc, char** argv, std::span<const AddCommand> commands) {
    reserve_standard_streams();
    ignore_file_size_signal();
    const int status = guarded_run(argc, argv, commands);
    // Without the exit handlers of libraries: that of OpenBLAS waits for its threads, and where address space is
    // limited one of them may be asking for memory for ever. What matters has been written and closed.
    std::fflush(nullptr);
    _exit(status);
}

}  // namespace basalt
