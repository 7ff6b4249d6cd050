#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "apps/settings.hpp"

namespace basalt {

/// What a subcommand does once the command line is read; returns an ExitStatus.
using Command = std::function<int()>;

// Each adds one subcommand with its options to `program`, in the file named for it. When the subcommand is on
// the command line, parsing stores in `chosen` what to run; options overwrite `settings` as they are parsed.
// `program`, `settings` and `chosen` must outlive the parse and the run.

void add_info(CLI::App& program, Settings& settings, Command& chosen);
void add_hpl(CLI::App& program, Settings& settings, Command& chosen);
void add_cholesky(CLI::App& program, Settings& settings, Command& chosen);
void add_lu(CLI::App& program, Settings& settings, Command& chosen);
void add_qr(CLI::App& program, Settings& settings, Command& chosen);
void add_solve(CLI::App& program, Settings& settings, Command& chosen);
void add_trace(CLI::App& program, Settings& settings, Command& chosen);

}  // namespace basalt
