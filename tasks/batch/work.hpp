#pragma once

#include <algorithm>

#include <basalt/view.hpp>

/// Estimates of what a matrix of a batch costs, in multiplications. Each matrix has a cost of its own, and moving an
/// element costs as much as 8 to 16 multiplications.
namespace basalt::detail {

/// Of order n, with `columns` right-hand sides.
inline Index cholesky_work(Index n, Index columns) { return 64 + 8 * n * n + n * n * n / 6 + 2 * n * n * columns; }
inline Index lu_work(Index n, Index columns) { return 64 + 16 * n * n + n * n * n / 2 + 2 * n * n * columns; }
/// Of m x n, with further columns to which its reflectors are applied.
inline Index qr_work(Index m, Index n, Index columns) { return 64 + m * n * (16 + std::min(m, n) + 2 * columns); }

}  // namespace basalt::detail
