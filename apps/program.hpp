#pragma once

#include <span>

#include "apps/commands.hpp"

namespace basalt {

/// One of the functions of apps/commands.hpp.
using AddCommand = void (*)(CLI::App& program, Settings& settings, Command& chosen);

/// What main() does in a program with these subcommands: reads the command line, runs the subcommand that it names and
/// ends the process with an ExitStatus. An error is one line on standard error.
[[noreturn]] void run_program(int argc, char** argv, std::span<const AddCommand> commands);

}  // namespace basalt
