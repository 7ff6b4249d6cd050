#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "apps/input/settings.hpp"

namespace basalt {

/// The settings of every subcommand that factors a matrix, except the panel width.
const std::vector<std::string>& factor_settings();

/// Adds the options of the settings in `variables` to `command`. They have precedence over the environment.
void add_setting_options(CLI::App& command, Settings& settings, const std::vector<std::string>& variables);

}  // namespace basalt
