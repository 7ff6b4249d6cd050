#include <algorithm>
#include <cmath>
#include <vector>

#include "tiles/generators/factories.hpp"
#include "tiles/generators/formula.hpp"

namespace basalt::generators {

namespace {

/// Upper triangular, row i = s^i (0 ... 0 1 -c ... -c) with s = sin(1.2), c = cos(1.2): nearly singular
/// though no diagonal element is small for it (Kahan, "Numerical linear algebra", Canad. Math. Bull. 9,
/// 1966).
class Kahan {
  public:
    static constexpr std::string_view name = "kahan";

    explicit Kahan(Index order) : scales_(static_cast<std::size_t>(order)) {
        double scale = 1;
        for (double& value : scales_) {
            value = scale;
            scale *= std::sin(1.2);
        }
    }

    double operator()(Index i, Index j) const {
        if (i > j) return 0;
        return i == j ? scales_[i] : -cosine_ * scales_[i];
    }

  private:
    std::vector<double> scales_;
    double cosine_ = std::cos(1.2);
};

}  // namespace

template <class T>
Made<T> make_kahan(Index m, Index n, std::uint64_t) {
    return make_from_formula<T>(m, n, Kahan(std::min(m, n)));
}

template Made<float> make_kahan(Index, Index, std::uint64_t);
template Made<double> make_kahan(Index, Index, std::uint64_t);

}  // namespace basalt::generators
