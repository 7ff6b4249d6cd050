#pragma once

#include <string_view>

#include <basalt/view.hpp>

namespace basalt::generators {

/// 1 on the diagonal and in the last column, -1 below the diagonal, 0 elsewhere: partial pivoting swaps
/// nothing and the last column of U doubles from row to row, a growth of 2^(n-1), the largest possible
/// (Wilkinson, "Error analysis of direct methods of matrix inversion", J. ACM 8, 1961).
struct Wilkinson {
    static constexpr std::string_view name = "wilkinson";
    Index last_col;

    constexpr double operator()(Index i, Index j) const {
        if (i == j || (j == last_col && i < j)) return 1;
        return i > j ? -1 : 0;
    }
};

}  // namespace basalt::generators
