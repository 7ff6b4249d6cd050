#pragma once

#include <string_view>

#include <basalt/view.hpp>

namespace basalt::generators {

/// 1 / (i + j + 1), counting from 0 (Hilbert 1894): symmetric positive definite, with a condition number that
/// grows like (1 + sqrt(2))^(4 n) / sqrt(n).
struct Hilbert {
    static constexpr std::string_view name = "hilbert";

    constexpr double operator()(Index i, Index j) const { return 1.0 / static_cast<double>(i + j + 1); }
};

}  // namespace basalt::generators
