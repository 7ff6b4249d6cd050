#include <algorithm>
#include <cmath>

#include "tiles/generators/factories.hpp"
#include "tiles/generators/formula.hpp"

namespace basalt::generators {

namespace {

/// x_i^j at m equispaced nodes x_i from -1 to 1.
struct Vandermonde {
    static constexpr std::string_view name = "vandermonde";
    double intervals;

    double operator()(Index i, Index j) const {
        return std::pow(2.0 * static_cast<double>(i) / intervals - 1.0, static_cast<double>(j));
    }
};

}  // namespace

template <class T>
Made<T> make_vandermonde(Index m, Index n, std::uint64_t) {
    return make_from_formula<T>(m, n, Vandermonde{static_cast<double>(std::max<Index>(m - 1, 1))});
}

template Made<float> make_vandermonde(Index, Index, std::uint64_t);
template Made<double> make_vandermonde(Index, Index, std::uint64_t);

}  // namespace basalt::generators
