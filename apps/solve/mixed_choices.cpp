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

std::string factor_precision_name(ProductPrecision products, FactorMode mode) {
    if (mode == FactorMode::cpu) return "s";
    for (const PrecisionWord& word : precision_words) {
        if (word.value == products) return word.name;
    }
    return "s";
}

void require_factor_precision(const std::string& name, FactorMode mode) {
    const auto products = factor_products(name);
    if (mode != FactorMode::cpu || !products || is_single(*products)) return;
    throw WrongUse(fmt::format(
        "--factor-precision {} where the mode is cpu; allowed: auto, s, s-plain, or a mode with GPUs", name));
}

const char* outcome_text(MixedOutcome outcome) {
    switch (outcome) {
        case MixedOutcome::refined: return "refined";
        case MixedOutcome::not_finite: return "A, its norm or B is not finite";
        case MixedOutcome::breakdown: return "the factors of low precision are not usable";
        case MixedOutcome::stagnation: return "the corrections do not become small";
        case MixedOutcome::iteration_limit: return "the limit of corrections was reached";
    }
    return "";
}

double refinement_bytes(Index n, Index right_hand_sides, std::optional<int> iteration_limit) {
    constexpr double vectors_a_step = 2;
    const double steps = iteration_limit ? *iteration_limit : std::max(30.0, static_cast<double>(n) / 512);
    return vectors_a_step * steps * static_cast<double>(n) * static_cast<double>(right_hand_sides) * sizeof(double);
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
    refuse_without_mixed("--iteration-limit", iteration_limit.has_value());
    const bool by_blocks = substitution == Substitution::blocked_backward || substitution == Substitution::blocked;
    if (by_blocks && method == "mixed-cholesky") {
        throw WrongUse(
            fmt::format("--substitution {} with --method {}; allowed: --method mixed", name_of(substitution), method));
    }
    if (by_blocks && refinement == Refinement::gmres) {
        throw WrongUse(fmt::format("--substitution {} with --refinement gmres; allowed: --refinement auto or classic",
                                   name_of(substitution)));
    }
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
    command
        .add_option_function<std::string>(
            "--iteration-limit",
            [&choices](const std::string& text) {
                constexpr Index most = 1'000'000;
                choices.iteration_limit = static_cast<int>(parse_integer("--iteration-limit", text, 0, most));
            },
            "mixed: most corrections, or steps of GMRES, before A is factored in double; default: 30, or n / 512 "
            "where that is more")
        ->type_name("N");
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
