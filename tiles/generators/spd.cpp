#include <algorithm>

#include "tiles/generators/factories.hpp"
#include "tiles/generators/formula.hpp"
#include "tiles/generators/mix.hpp"

namespace basalt::generators {

namespace {

/// Symmetric: random in [-0.5, 0.5) off the diagonal and `order` = max(m, n) on it. Each Gershgorin disc lies
/// right of order / 2, so the square matrix is positive definite, with a condition number below 3.
struct Spd {
    static constexpr std::string_view name = "spd";
    std::uint64_t seed;
    double order;

    double operator()(Index i, Index j) const {
        if (i == j) return order;
        return uniform<double>(element_bits(column_key(seed, std::min(i, j)), std::max(i, j)));
    }
};

}  // namespace

template <class T>
Made<T> make_spd(Index m, Index n, std::uint64_t seed) {
    return make_from_formula<T>(m, n, Spd{seed, static_cast<double>(std::max(m, n))});
}

template Made<float> make_spd(Index, Index, std::uint64_t);
template Made<double> make_spd(Index, Index, std::uint64_t);

}  // namespace basalt::generators
