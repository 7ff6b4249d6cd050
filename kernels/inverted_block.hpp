#pragma once

#include <basalt/view.hpp>

namespace basalt {

/// Order of the diagonal blocks of a panel's triangle that are inverted. With 32 the largest error of random matrices
/// is at most 1.5 times LAPACK's; with 64 nearly twice, with the whole triangle of 256 five times
/// (docs/decisions/0009).
inline constexpr Index inverted_block = 32;

}  // namespace basalt
