#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "basalt/mixed.hpp"

namespace basalt {

/// The names that --factor-precision takes.
const std::vector<std::string>& factor_precision_names();
/// How the precision of that name multiplies; nothing for auto.
std::optional<ProductPrecision> factor_products(const std::string& name);
/// In mode cpu both of single precision are plain, and called s.
std::string factor_precision_name(ProductPrecision products, FactorMode mode);
/// Throws WrongUse for the name of a precision that the mode does not have.
void require_factor_precision(const std::string& name, FactorMode mode);

/// Why a solution was not refined to the end, to follow a colon; "refined" if it was.
const char* outcome_text(MixedOutcome outcome);
/// Bytes of the host's memory that refinement may take, by GMRES; `iteration_limit` as in MixedOptions.
double refinement_bytes(Index n, Index right_hand_sides, std::optional<int> iteration_limit = {});

/// Options of `basalt solve` for the methods mixed and mixed-cholesky.
struct MixedChoices {
    std::string factor_precision = "auto";  ///< one of factor_precision_names()
    Refinement refinement = Refinement::automatic;
    Substitution substitution = Substitution::automatic;
    std::optional<int> substitution_lookahead;
    std::optional<int> iteration_limit;

    /// Throws WrongUse for options that have no effect with that method, or without a blocked substitution.
    void require_effect(const std::string& method) const;
};

/// Adds the options to `command`. Values that are not allowed throw WrongUse during the parse, which `choices` must
/// outlive.
void add_mixed_options(CLI::App& command, MixedChoices& choices);

}  // namespace basalt
