#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "apps/settings.hpp"

namespace basalt {

/// The settings of every subcommand that factors a matrix, but the panel width.
const std::vector<std::string>& factor_settings();

/// Lets the options of the settings named in `variables` be given to `command`, with precedence over the
/// environment.
void add_setting_options(CLI::App& command, Settings& settings, const std::vector<std::string>& variables);

}  // namespace basalt
