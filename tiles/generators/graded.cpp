#include <algorithm>
#include <bit>

#include "tiles/generators/factories.hpp"
#include "tiles/generators/formula.hpp"
#include "tiles/generators/mix.hpp"

namespace basalt::generators {

namespace {

/// 2^-e for 0 <= e < 1023, exactly.
double inverse_power_of_two(Index e) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(1023 - e) << 52);
}

/// D_m R D_n: random R in [-0.5, 0.5), rows and columns scaled by powers of two that fall evenly from 1 to
/// 2^-25, so that elements span a range of 2^50 from the top left to the bottom right.
struct Graded {
    static constexpr std::string_view name = "graded";
    static constexpr Index steps = 26;
    std::uint64_t seed;
    Index m;
    Index n;

    double operator()(Index i, Index j) const {
        const double scale = inverse_power_of_two(steps * i / m + steps * j / n);
        return scale * uniform<double>(element_bits(column_key(seed, j), i));
    }
};

}  // namespace

template <class T>
Made<T> make_graded(Index m, Index n, std::uint64_t seed) {
    return make_from_formula<T>(m, n, Graded{seed, std::max<Index>(m, 1), std::max<Index>(n, 1)});
}

template Made<float> make_graded(Index, Index, std::uint64_t);
template Made<double> make_graded(Index, Index, std::uint64_t);

}  // namespace basalt::generators
