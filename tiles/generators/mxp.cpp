#include "tiles/generators/mxp.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "tiles/generators/factories.hpp"
#include "tiles/generators/hpl.hpp"

namespace basalt::generators {

namespace {

/// For each row of a square of order n the sum of the magnitudes off the diagonal. Columns go side by side, because
/// each number of the stream depends on the previous one.
std::vector<double> dominant_diagonal(Index n, Index count) {
    constexpr Index side_by_side = 8;
    std::vector<double> sums(static_cast<std::size_t>(n));
    const AffineMap next_column = hpl_step.power(static_cast<std::uint64_t>(n));
    std::uint64_t start = hpl_step(hpl_start);
    for (Index first = 0; first < n; first += side_by_side) {
        std::array<std::uint64_t, side_by_side> states{};
        for (std::uint64_t& state : states) {
            state = start;
            start = next_column(start);
        }
        for (Index i = 0; i < n; ++i) {
            double sum = 0;
            for (Index c = 0; c < side_by_side; ++c) {
                std::uint64_t& state = states[static_cast<std::size_t>(c)];
                const bool counts = first + c < n && first + c != i;
                sum += counts ? std::abs(hpl_value(state)) : 0;
                state = hpl_step(state);
            }
            sums[static_cast<std::size_t>(i)] += sum;
        }
    }
    sums.resize(static_cast<std::size_t>(count));
    return sums;
}

template <class T>
class MxpGenerator final : public Generator<T>, public MxpDiagonal {
  public:
    MxpGenerator(Index m, Index n)
        : Generator<T>(m, n), base_(make_hpl<T>(m, n, 0)), diagonal_(dominant_diagonal(m, std::min(m, n))) {}

    std::string_view name() const override { return "mxp"; }
    const std::vector<double>& diagonal() const override { return diagonal_; }

  protected:
    void fill_block(View<T> block, Index row0, Index col0) const override {
        base_->fill(block, row0, col0);
        const Index last = std::min({row0 + block.rows(), col0 + block.cols(), std::ssize(diagonal_)});
        for (Index d = std::max(row0, col0); d < last; ++d) {
            block(d - row0, d - col0) = static_cast<T>(diagonal_[static_cast<std::size_t>(d)]);
        }
    }

  private:
    Made<T> base_;
    std::vector<double> diagonal_;
};

}  // namespace

template <class T>
Made<T> make_mxp(Index m, Index n, std::uint64_t) {
    return std::make_unique<MxpGenerator<T>>(m, n);
}

template Made<float> make_mxp(Index, Index, std::uint64_t);
template Made<double> make_mxp(Index, Index, std::uint64_t);

}  // namespace basalt::generators
