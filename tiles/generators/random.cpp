#include <algorithm>

#include "tiles/generators/factories.hpp"
#include "tiles/generators/mix.hpp"

namespace basalt::generators {

namespace {

/// Uniform in [-0.5, 0.5): mix.hpp has the formula and its source.
template <class T>
class RandomGenerator final : public Generator<T> {
  public:
    RandomGenerator(Index m, Index n, std::uint64_t seed) : Generator<T>(m, n), seed_(seed) {}

    std::string_view name() const override { return "random"; }

  protected:
    void fill_block(View<T> block, Index row0, Index col0) const override {
        // The keys of a few columns at a time, so that rows can be written contiguously too.
        constexpr Index group = 256;
        std::uint64_t keys[group];
        for (Index first = 0; first < block.cols(); first += group) {
            const Index cols = std::min(group, block.cols() - first);
            for (Index j = 0; j < cols; ++j) keys[j] = column_key(seed_, col0 + first + j);
            fill_columns(block.block(0, first, block.rows(), cols), row0, keys);
        }
    }

  private:
    static void fill_columns(View<T> block, Index row0, const std::uint64_t* keys) {
        if (block.col_stride() == 1) {
            for (Index i = 0; i < block.rows(); ++i) {
                T* const row = &block(i, 0);
                for (Index j = 0; j < block.cols(); ++j) row[j] = uniform<T>(element_bits(keys[j], row0 + i));
            }
            return;
        }
        for (Index j = 0; j < block.cols(); ++j) {
            for (Index i = 0; i < block.rows(); ++i) {
                block(i, j) = uniform<T>(element_bits(keys[j], row0 + i));
            }
        }
    }

    std::uint64_t seed_;
};

}  // namespace

template <class T>
Made<T> make_random(Index m, Index n, std::uint64_t seed) {
    return std::make_unique<RandomGenerator<T>>(m, n, seed);
}

template Made<float> make_random(Index, Index, std::uint64_t);
template Made<double> make_random(Index, Index, std::uint64_t);

}  // namespace basalt::generators
