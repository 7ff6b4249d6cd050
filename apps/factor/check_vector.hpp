#pragma once

#include <cstddef>
#include <vector>

#include "basalt/view.hpp"

namespace basalt {

/// A vector by which a factorization is compared with its matrix.
using Vector = std::vector<double>;

inline double& element(Vector& x, Index i) { return x[static_cast<std::size_t>(i)]; }
inline double element(const Vector& x, Index i) { return x[static_cast<std::size_t>(i)]; }

}  // namespace basalt
