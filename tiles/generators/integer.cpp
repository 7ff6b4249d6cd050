#include <algorithm>
#include <numeric>

#include "tiles/generators/factories.hpp"
#include "tiles/generators/formula.hpp"
#include "tiles/generators/mix.hpp"

namespace basalt::generators {

namespace {

/// Small integers P^T L U whose factorization with partial pivoting is exact in any precision and order of
/// summation. Row i is row p = (a i + c) mod m of L U, a and m coprime. L has ones on its diagonal and 0 or
/// +-1/2 at columns p - 1, p / 2, p / 3; U has +-8 on its diagonal and even numbers in [-8, 8] right of it.
/// So the pivot of step k is row p = k, twice as large as any other candidate, and elements stay below 8 + 3
/// x 4 = 20.
class Integer {
  public:
    static constexpr std::string_view name = "integer";

    Integer(Index m, Index n, std::uint64_t seed) : m_(std::max<Index>(m, 1)), steps_(std::min(m, n)), seed_(seed) {
        // A multiplier near m / golden ratio scatters neighbours; the seed shifts it.
        multiplier_ = static_cast<Index>(0.618 * static_cast<double>(m_)) + static_cast<Index>(mix(seed) % 8) + 1;
        while (std::gcd(multiplier_, m_) != 1) ++multiplier_;
        shift_ = static_cast<Index>(mix(seed + 1) % static_cast<std::uint64_t>(m_));
    }

    double operator()(Index i, Index j) const {
        const Index p = (multiplier_ * i + shift_) % m_;
        double sum = p < steps_ ? upper(p, j) : 0;
        const Index below[] = {p - 1, p / 2, p / 3};
        for (int k = 0; k < 3; ++k) {
            const bool repeated = std::find(below, below + k, below[k]) != below + k;
            if (below[k] < 0 || below[k] >= std::min(p, steps_) || repeated) continue;
            sum += lower(p, below[k]) * upper(below[k], j);
        }
        return sum;
    }

  private:
    double lower(Index p, Index k) const {
        return 0.5 * (static_cast<double>(element_bits(column_key(~seed_, k), p) % 3) - 1);
    }

    double upper(Index k, Index j) const {
        if (k > j) return 0;
        const std::uint64_t bits = element_bits(column_key(seed_, j), k);
        if (k == j) return (bits & 1) != 0 ? 8 : -8;
        return 2 * (static_cast<double>(bits % 9) - 4);
    }

    Index m_;
    Index steps_;
    std::uint64_t seed_;
    Index multiplier_ = 1;
    Index shift_ = 0;
};

}  // namespace

template <class T>
Made<T> make_integer(Index m, Index n, std::uint64_t seed) {
    return make_from_formula<T>(m, n, Integer(m, n, seed));
}

template Made<float> make_integer(Index, Index, std::uint64_t);
template Made<double> make_integer(Index, Index, std::uint64_t);

}  // namespace basalt::generators
