#include <algorithm>
#include <cassert>

#include "kernels/cuda/common/launch.cuh"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/matrix.hpp"
#include "tiles/generators/deficient.hpp"
#include "tiles/generators/graded.hpp"
#include "tiles/generators/hilbert.hpp"
#include "tiles/generators/hpl.hpp"
#include "tiles/generators/mix.hpp"
#include "tiles/generators/simple.hpp"
#include "tiles/generators/spd.hpp"
#include "tiles/generators/wilkinson.hpp"

namespace basalt::on_stream {

namespace {

using namespace generators;
using cuda_detail::divide_up;

constexpr int threads = cuda_detail::generator_threads;  // columns of a tile column that a block makes
constexpr Index rows_a_block = cuda_detail::generated_rows;

// A rule makes columns of a matrix: value() is the element that the column has come to, next() goes one row
// down.

template <class T>
struct Random {
    std::uint64_t seed;

    class Column {
      public:
        __device__ Column(const Random& random, Index row, Index col) : key_(column_key(random.seed, col)), row_(row) {}
        __device__ T value() const { return uniform<T>(element_bits(key_, row_)); }
        __device__ void next() { ++row_; }

      private:
        std::uint64_t key_;
        Index row_;
    };
};

/// Element (i, j) comes from x_(j rows + i + 1): one jump to the top of a block, then steps.
template <class T>
struct Hpl {
    AffineMap step;
    std::uint64_t start;
    std::uint64_t rows;

    class Column {
      public:
        __device__ Column(const Hpl& hpl, Index row, Index col) : step_(hpl.step) {
            const std::uint64_t position =
                static_cast<std::uint64_t>(col) * hpl.rows + static_cast<std::uint64_t>(row) + 1;
            state_ = hpl.step.power(position)(hpl.start);
        }
        __device__ T value() const { return static_cast<T>(hpl_value(state_)); }
        __device__ void next() { state_ = step_(state_); }

      private:
        AffineMap step_;
        std::uint64_t state_ = 0;
    };
};

/// Element (i, j) is formula(i, j).
template <class T, class Formula>
struct Positional {
    Formula formula;

    class Column {
      public:
        __device__ Column(const Positional& rule, Index row, Index col)
            : formula_(rule.formula), row_(row), col_(col) {}
        __device__ T value() const { return static_cast<T>(formula_(row_, col_)); }
        __device__ void next() { ++row_; }

      private:
        const Formula& formula_;
        Index row_, col_;
    };
};

/// A block makes `threads` columns of rows_a_block rows; those side by side in all tile columns are numbered
/// in blockIdx.x.
template <class T, class Rule>
__global__ void __launch_bounds__(threads)
    generate_kernel(Rule rule, Index m, Index n, TileDeal deal, TileColumns<T> target, Index segments_a_row) {
    const Index l = blockIdx.x / segments_a_row;
    const Index c = blockIdx.x % segments_a_row * threads + threadIdx.x;
    if (c >= target.width) return;
    const Index col = deal.column(l) * target.width + c;
    T* const column = target.data + l * target.stride + c;
    for (Index top = blockIdx.y * rows_a_block; top < target.rows; top += gridDim.y * rows_a_block) {
        const Index bottom = min(top + rows_a_block, target.rows), true_bottom = col < n ? min(bottom, m) : top;
        typename Rule::Column elements(rule, top, col);
        Index row = top;
        for (; row < true_bottom; ++row, elements.next()) column[row * target.ld] = elements.value();
        for (; row < bottom; ++row) column[row * target.ld] = T(row >= m && col >= n && row == col);
    }
}

template <class T, class Rule>
void launch(Stream stream, const Rule& rule, const TileGrid& grid, TileDeal deal, TileColumns<T> target) {
    const auto blocks = cuda_detail::blocks(cuda_detail::generator_grid(target.columns, target.rows, target.width));
    generate_kernel<T><<<blocks, threads, 0, cuda_detail::native(stream)>>>(rule, grid.rows(), grid.cols(), deal,
                                                                            target, divide_up(target.width, threads));
    cuda_detail::check_launch("generate_kernel", stream);
}

}  // namespace

template <class T>
void run_on_gpu(GenerateTileColumns<T>, Stream stream, const GeneratorSpec& generator, const TileGrid& grid,
                TileDeal deal, TileColumns<T> target) {
    assert(target.rows == grid.padded_rows() && target.ld == grid.shape().width);
    assert(generator.rows >= grid.rows() && generator.cols >= grid.cols());
    if (target.empty()) return;
    const auto [kind, m, n, seed] = generator;
    const auto make = [&](const auto& rule) { launch<T>(stream, rule, grid, deal, target); };
    const auto make_formula = [&]<class Formula>(const Formula& formula) { make(Positional<T, Formula>{formula}); };
    switch (kind) {
        case DeviceGenerator::random: return make(Random<T>{seed});
        case DeviceGenerator::hpl: return make(Hpl<T>{hpl_step, hpl_start, static_cast<std::uint64_t>(m)});
        case DeviceGenerator::spd: return make_formula(Spd{seed, static_cast<double>(std::max(m, n))});
        case DeviceGenerator::hilbert: return make_formula(Hilbert{});
        case DeviceGenerator::wilkinson: return make_formula(Wilkinson{n - 1});
        case DeviceGenerator::graded: return make_formula(Graded{seed, std::max<Index>(m, 1), std::max<Index>(n, 1)});
        case DeviceGenerator::deficient: return make_formula(Deficient{seed, std::min(m, n) / 2});
        case DeviceGenerator::zero: return make_formula(Zero{});
        case DeviceGenerator::identity: return make_formula(Identity{});
    }
}

template <>
const GenerateTileColumns<float>::Gpu Code<GenerateTileColumns<float>>::gpu = gpu_code<GenerateTileColumns<float>>;
template <>
const GenerateTileColumns<double>::Gpu Code<GenerateTileColumns<double>>::gpu = gpu_code<GenerateTileColumns<double>>;

}  // namespace basalt::on_stream
