#include "apps/solve/mixed_choices.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "apps/exit_status.hpp"
#include "apps/input/arguments.hpp"

namespace basalt {

namespace {

template <class T>
struct Word {
    const char* name;
    T value;
};

constexpr std::array refinements{Word<Refinement>{"auto", Refinement::automatic},
                                 Word<Refinement>{"classic", Refinement::classic},
                                 Word<Refinement>{"gmres", Refinement::gmres}};

using PrecisionWord = Word<ProductPrecision>;

/// In mode cpu, s is plain single precision: there is nothing else.
constexpr std::array precision_words{
    PrecisionWord{"s", ProductPrecision::split_bf16},      PrecisionWord{"s-plain", ProductPrecision::plain},
    PrecisionWord{"fp16x2", ProductPrecision::split_fp16}, PrecisionWord{"tf32", ProductPrecision::tf32},
    PrecisionWord{"bf16", ProductPrecision::bf16},         PrecisionWord{"fp16", ProductPrecision::fp16}};

constexpr Word<Substitution> word_of(Substitution substitution) { return {name_of(substitution), substitution}; }

constexpr std::array substitutions{word_of(Substitution::automatic), word_of(Substitution::gpu),
                                   word_of(Substitution::blocked_backward), word_of(Substitution::blocked),
                                   word_of(Substitution::cores)};

/// An option whose value is one of these words.
template <class Words, class T>
void add_choice(CLI::App& command, const char* option, const Words& words, T& chosen, const char* text) {
    command
        .add_option_function<std::string>(
            option,
            [option, &words, &chosen](const std::string& value) {
                std::vector<std::string> names;
                for (const auto& word : words) names.emplace_back(word.name);
                const std::string name = parse_choice(option, value, names);
                chosen = std::find_if(words.begin(), words.end(), [&](const auto& word) {
                             return word.name == name;
                         })->value;
            },
            text)
        ->type_name("VALUE");
}

}  // namespace

std::optional<ProductPrecision> factor_products(const std::string& name) {
    for (const PrecisionWord& word : precision_words) {
        if (word.name == name) return word.value;
    }
    return std::nullopt;
}

std::string factor_precision_name(ProductPrecision products) {
    for (const PrecisionWord& word : precision_words) {
        if (word.value == products && products != ProductPrecision::plain) return word.name;
    }
    return "s";
}

const std::vector<std::string>& factor_precision_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all{"auto"};
        for (const PrecisionWord& word : precision_words) all.emplace_back(word.name);
        return all;
    }();
    return names;
}

void MixedChoices::require_effect(const std::string& method) const {
    const auto refuse_without_mixed = [&](const char* option, bool given) {
        if (!given || method == "mixed" || method == "mixed-cholesky") return;
        throw WrongUse(fmt::format("{} without --method mixed; allowed: --method mixed or mixed-cholesky", option));
    };
    refuse_without_mixed("--factor-precision", factor_precision != "auto");
    refuse_without_mixed("--refinement", refinement != Refinement::automatic);
    refuse_without_mixed("--substitution", substitution != Substitution::automatic);
    const bool by_blocks = substitution == Substitution::blocked_backward || substitution == Substitution::blocked;
    if (substitution_lookahead && !by_blocks) {
        throw WrongUse(
            fmt::format("--substitution-lookahead {} with --substitution {}; allowed: --substitution blocked-backward "
                        "or blocked",
                        *substitution_lookahead, name_of(substitution)));
    }
}

void add_mixed_options(CLI::App& command, MixedChoices& choices) {
    command
        .add_option_function<std::string>(
            "--factor-precision",
            [&choices](const std::string& text) {
                choices.factor_precision = parse_choice("--factor-precision", text, factor_precision_names());
            },
            "mixed: how the factorization multiplies: s, s-plain, and on GPUs fp16x2 (two slices of each number), "
            "tf32, bf16 or fp16; default: auto")
        ->type_name("VALUE");
    add_choice(command, "--refinement", refinements, choices.refinement,
               "mixed: classic refinement, gmres, or auto (default)");
    add_choice(
        command, "--substitution", substitutions, choices.substitution,
        "mixed: where the factors solve: gpu, cores, and for comparison on one GPU blocked-backward (cores solve "
        "blocks of U while the GPU updates the residual) or blocked (L too); default: auto");
    command
        .add_option_function<std::string>(
            "--substitution-lookahead",
            [&choices](const std::string& text) {
                choices.substitution_lookahead =
                    static_cast<int>(parse_integer("--substitution-lookahead", text, 1, 2));
            },
            "blocked substitutions: blocks that the GPU updates before the others, 1 (default) or 2")
        ->type_name("N");
}

}  // namespace basalt
