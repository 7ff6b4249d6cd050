#pragma once

#include <cstddef>

#include "apps/factor/factor_plan.hpp"
#include "basalt/qr.hpp"

namespace basalt {

/// How one QR factorization runs, with all choices made.
struct QrPlan : FactorPlan {
    QrOptions options;  ///< with mode, method and panel width
};

/// The plan for an m x n matrix of elements of `element_size` bytes, with the method, inner width and tree of `wanted`.
/// The library chooses a tile and a panel width for mode and method if the settings name none; tiles are smaller if the
/// GPUs have little memory. Throws WrongUse for a method, tree or number of panel threads that has no effect in the
/// mode, and as set_choice() does; UsageError as choose_qr_mode() does.
QrPlan qr_plan(const Settings& settings, const Runtime& runtime, Index m, Index n, std::size_t element_size,
               const QrOptions& wanted);

}  // namespace basalt
