#include <algorithm>

#include "tiles/generators/factories.hpp"
#include "tiles/generators/hpl.hpp"

namespace basalt::generators {

namespace {

/// The values of x_1, x_2, ... column by column: element (i, j) comes from x_(j m + i + 1). For an HPL run
/// n = m + 1, the last column being b. Float matrices are the double ones rounded.
template <class T>
class HplGenerator final : public Generator<T> {
  public:
    HplGenerator(Index m, Index n) : Generator<T>(m, n), next_column_(hpl_step.power(static_cast<std::uint64_t>(m))) {}

    std::string_view name() const override { return "hpl"; }

  protected:
    void fill_block(View<T> block, Index row0, Index col0) const override {
        // 2^64 elements are the generator's period, so the position may be reduced mod 2^64.
        const auto position = static_cast<std::uint64_t>(col0) * static_cast<std::uint64_t>(this->rows()) +
                              static_cast<std::uint64_t>(row0) + 1;
        std::uint64_t x = hpl_step.power(position)(hpl_start);

        // The states of a few columns at a time: they advance independently, and rows can be written
        // contiguously too.
        constexpr Index group = 256;
        std::uint64_t states[group];
        for (Index first = 0; first < block.cols(); first += group) {
            const Index cols = std::min(group, block.cols() - first);
            for (Index j = 0; j < cols; ++j, x = next_column_(x)) states[j] = x;
            fill_columns(block.block(0, first, block.rows(), cols), states);
        }
    }

  private:
    static void fill_columns(View<T> block, std::uint64_t* states) {
        if (block.col_stride() == 1) {
            for (Index i = 0; i < block.rows(); ++i) {
                T* const row = &block(i, 0);
                for (Index j = 0; j < block.cols(); ++j) {
                    row[j] = static_cast<T>(hpl_value(states[j]));
                    states[j] = hpl_step(states[j]);
                }
            }
            return;
        }
        for (Index j = 0; j < block.cols(); ++j) {
            std::uint64_t x = states[j];
            for (Index i = 0; i < block.rows(); ++i, x = hpl_step(x)) {
                block(i, j) = static_cast<T>(hpl_value(x));
            }
        }
    }

    AffineMap next_column_;  // m steps: from an element to its right neighbour
};

}  // namespace

template <class T>
Made<T> make_hpl(Index m, Index n, std::uint64_t) {
    return std::make_unique<HplGenerator<T>>(m, n);
}

template Made<float> make_hpl(Index, Index, std::uint64_t);
template Made<double> make_hpl(Index, Index, std::uint64_t);

}  // namespace basalt::generators
