#include <algorithm>

#include "tiles/generators/factories.hpp"
#include "tiles/generators/formula.hpp"
#include "tiles/generators/mix.hpp"

namespace basalt::generators {

namespace {

/// Rank floor(min(m, n) / 2) = r, exactly: r independent random columns, multiples of 2^-10 in [-1, 1), then
/// sums of two of these, column j = column (j mod r) + column (j + 1 mod r). All elements are exact in float.
struct Deficient {
    static constexpr std::string_view name = "deficient";
    std::uint64_t seed;
    Index rank;

    double operator()(Index i, Index j) const {
        if (rank == 0) return 0;
        return j < rank ? base(i, j) : base(i, j % rank) + base(i, (j + 1) % rank);
    }

    double base(Index i, Index j) const {
        const auto eleven_bits = static_cast<std::int64_t>(element_bits(column_key(seed, j), i) >> 53);
        return static_cast<double>(eleven_bits - 1024) * 0x1p-10;
    }
};

}  // namespace

template <class T>
Made<T> make_deficient(Index m, Index n, std::uint64_t seed) {
    return make_from_formula<T>(m, n, Deficient{seed, std::min(m, n) / 2});
}

template Made<float> make_deficient(Index, Index, std::uint64_t);
template Made<double> make_deficient(Index, Index, std::uint64_t);

}  // namespace basalt::generators
