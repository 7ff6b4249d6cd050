#include "tiles/generators/factories.hpp"
#include "tiles/generators/formula.hpp"

namespace basalt::generators {

namespace {

/// 1 on the diagonal and in the last column, -1 below the diagonal, 0 elsewhere: partial pivoting swaps
/// nothing and the last column of U doubles from row to row, a growth of 2^(n-1), the largest possible
/// (Wilkinson, "Error analysis of direct methods of matrix inversion", J. ACM 8, 1961).
struct Wilkinson {
    static constexpr std::string_view name = "wilkinson";
    Index last_col;

    double operator()(Index i, Index j) const {
        if (i == j || (j == last_col && i < j)) return 1;
        return i > j ? -1 : 0;
    }
};

}  // namespace

template <class T>
Made<T> make_wilkinson(Index m, Index n, std::uint64_t) {
    return make_from_formula<T>(m, n, Wilkinson{n - 1});
}

template Made<float> make_wilkinson(Index, Index, std::uint64_t);
template Made<double> make_wilkinson(Index, Index, std::uint64_t);

}  // namespace basalt::generators
