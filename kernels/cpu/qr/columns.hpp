#pragma once

#include <cmath>
#include <iterator>
#include <vector>

#include <basalt/view.hpp>

/// What QR of panels and of tiles on cores have in common. Single-threaded, reentrant.
namespace basalt {

/// Leading dimension of a column-major copy: whole cache lines, never a multiple of a page.
template <class T>
Index line_padded(Index rows) {
    constexpr Index line = 64 / sizeof(T), page = 4096 / sizeof(T);
    const Index padded = (rows + line - 1) / line * line;
    return padded % page == 0 ? padded + line : padded;
}

/// Takes back from R that column j of its matrix was multiplied by 2^exponents[j].
template <class T>
void unscale_columns(View<T> r, const std::vector<int>& exponents) {
    for (Index j = 0; j < std::ssize(exponents); ++j) {
        const int exponent = exponents[static_cast<std::size_t>(j)];
        for (Index i = 0; i <= j && exponent != 0; ++i) r(i, j) = std::ldexp(r(i, j), -exponent);
    }
}

}  // namespace basalt
