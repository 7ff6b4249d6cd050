#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

#include "tiles/generators/factories.hpp"
#include "tiles/generators/formula.hpp"

namespace basalt::generators {

namespace {

/// sqrt(2 / (k + 1)) sin((i + 1) (j + 1) pi / (k + 1)) with k = max(m, n): the eigenvectors of the second
/// difference matrix (discrete sine transform I). So the longer ones of rows and columns are orthonormal; a square
/// matrix is also symmetric.
class Orthogonal {
  public:
    static constexpr std::string_view name = "orthogonal";

    explicit Orthogonal(Index order) : period_(2 * (order + 1)), sines_(static_cast<std::size_t>(period_)) {
        // One table of all values. Arguments are folded into the first quadrant, as integers.
        const Index half = order + 1;
        const double scale = std::sqrt(2.0 / static_cast<double>(half));
        for (Index p = 0; p < period_; ++p) {
            const Index folded = std::min(p % half, half - p % half);
            const double angle = std::numbers::pi * static_cast<double>(folded) / static_cast<double>(half);
            sines_[p] = (p < half ? scale : -scale) * std::sin(angle);
        }
    }

    double operator()(Index i, Index j) const { return sines_[(i + 1) * (j + 1) % period_]; }

  private:
    Index period_;
    std::vector<double> sines_;
};

}  // namespace

template <class T>
Made<T> make_orthogonal(Index m, Index n, std::uint64_t) {
    return make_from_formula<T>(m, n, Orthogonal(std::max(m, n)));
}

template Made<float> make_orthogonal(Index, Index, std::uint64_t);
template Made<double> make_orthogonal(Index, Index, std::uint64_t);

}  // namespace basalt::generators
