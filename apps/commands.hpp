#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "apps/input/settings.hpp"

namespace basalt {

/// Runs a subcommand after the command line is read; returns an ExitStatus.
using Command = std::function<int()>;

// Each function adds one subcommand with its options to `program`; the file of that name defines it. If the subcommand
// is on the command line, parsing stores its work in `chosen`. Options overwrite `settings` during the parse.
// `program`, `settings` and `chosen` must outlive the parse and the run.

void add_batch(CLI::App& program, Settings& settings, Command& chosen);
void add_info(CLI::App& program, Settings& settings, Command& chosen);
void add_hpl(CLI::App& program, Settings& settings, Command& chosen);
void add_cholesky(CLI::App& program, Settings& settings, Command& chosen);
void add_lu(CLI::App& program, Settings& settings, Command& chosen);
void add_qr(CLI::App& program, Settings& settings, Command& chosen);
void add_solve(CLI::App& program, Settings& settings, Command& chosen);
void add_trace(CLI::App& program, Settings& settings, Command& chosen);
void add_tune(CLI::App& program, Settings& settings, Command& chosen);

}  // namespace basalt
