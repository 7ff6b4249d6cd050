#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "apps/input/gpu_options.hpp"
#include "apps/input/settings.hpp"

namespace basalt {

/// The options, besides the settings, of the subcommands that factor one matrix.
struct FactorOptions {
    std::optional<Index> m;  ///< as n if not given
    Index n = 2000;
    bool n_given = false;
    char precision = 'd';
    bool matrix_given = false;
    std::string matrix = "random";  ///< generator of the matrix, or "list"
    std::string file;               ///< Matrix Market file to read it from instead; empty: none
    std::uint64_t seed = 0;
    Index repeat = 1;
    bool check = true;
    GpuOptions gpu;

    Index rows() const { return m.value_or(n); }
};

/// Adds the options to `command`. Values that are not allowed throw WrongUse during the parse. `options` and
/// `settings` must outlive the parse.
void add_factor_options(CLI::App& command, Settings& settings, FactorOptions& options);

/// The lines that "--matrix list" prints: every generator's name and description.
std::string generator_list();

}  // namespace basalt
