#include "apps/factor/factor_options.hpp"

#include <fmt/format.h>

#include "apps/input/matrix_file.hpp"
#include "apps/input/setting_options.hpp"
#include "basalt/generator.hpp"

namespace basalt {

namespace {

constexpr Index max_order = Index{1} << 40;

void parse_matrix(const std::string& text, FactorOptions& options) {
    std::vector<std::string> names = {"FILE.mtx", "list"};
    for (const auto& info : generator_names()) names.emplace_back(info.name);
    options.matrix_given = true;
    if (names_matrix_file(text)) {
        options.file = text;
    } else {
        options.matrix = parse_choice("--matrix", text, names);
    }
}

/// An option with a value. `parse` takes its text and throws for one that is not allowed.
template <class Parse>
void add_option(CLI::App& command, const std::string& name, const std::string& meaning, const Parse& parse) {
    command.add_option_function<std::string>(name, parse, meaning)->type_name("VALUE");
}

}  // namespace

void add_factor_options(CLI::App& command, Settings& settings, FactorOptions& options) {
    const auto integer = [&command](const std::string& name, Index& value, Index low, Index high,
                                    const std::string& meaning) {
        add_option(command, name, meaning, [name, &value, low, high](const std::string& text) {
            value = parse_integer(name, text, low, high);
        });
    };
    add_option(command, "--m", "rows (default: as --n)",
               [&options](const std::string& text) { options.m = parse_integer("--m", text, 0, max_order); });
    add_option(command, "--n", fmt::format("columns (default: {})", options.n), [&options](const std::string& text) {
        options.n = parse_integer("--n", text, 0, max_order);
        options.n_given = true;
    });
    integer("--repeat", options.repeat, 1, 1000000, "runs, each on a fresh matrix (default: 1)");
    add_option(command, "--precision", "s (single) or d (double) (default: d)", [&options](const std::string& text) {
        options.precision = parse_choice("--precision", text, {"s", "d"}).front();
    });
    add_option(
        command, "--matrix",
        fmt::format("a Matrix Market file (FILE.mtx) or a generator; list prints those (default: {})", options.matrix),
        [&options](const std::string& text) { parse_matrix(text, options); });
    add_option(command, "--seed", "seed of random matrices (default: 0)",
               [&options](const std::string& text) { options.seed = parse_seed("--seed", text); });
    command.add_flag_callback(
        "--check", [&options] { options.check = true; }, "check the result (the default)");
    command.add_flag_callback(
        "--no-check", [&options] { options.check = false; }, "do not check the result");
    add_setting_options(command, settings, factor_settings());
    add_setting_options(command, settings, {"BASALT_NB"});
    add_energy_option(command, options.gpu);
}

std::string generator_list() {
    std::string lines;
    for (const auto& info : generator_names()) lines += fmt::format("{:<12} {}\n", info.name, info.description);
    return lines;
}

}  // namespace basalt
