#include "kernels/cpu/products/split_product.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/cpu/blas/blas.hpp"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/products.hpp"
#include "kernels/triangle.hpp"
#include "tiles/copy.hpp"

namespace basalt::cpu_kernels {

namespace {

/// The nearest number of 8 bits, of two the even one, but never infinity.
float slice_of(float x) {
    constexpr std::uint32_t dropped = 0xffff;
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t to_even = (bits >> 16 & 1) + dropped / 2;
    const float nearest = std::bit_cast<float>((bits + to_even) & ~dropped);
    return std::isinf(nearest) ? std::bit_cast<float>(bits & ~dropped) : nearest;
}

}  // namespace

std::array<float, split_slices> slices_of(float x) {
    if (!std::isfinite(x)) return {x, 0, 0};
    std::array<float, split_slices> slices{};
    float left = x;
    for (float& slice : slices) {
        slice = slice_of(left);
        left = (left - slice) * split_step;
    }
    return slices;
}

}  // namespace basalt::cpu_kernels

namespace basalt::on_stream {

namespace {

/// The slices of all elements: those of number p from row p * slice_rows and column p * slice_cols on.
void split(View<const float> from, View<float> to, Index slice_rows, Index slice_cols) {
    for (Index i = 0; i < from.rows(); ++i) {
        for (Index j = 0; j < from.cols(); ++j) {
            const std::array<float, split_slices> slices = cpu_kernels::slices_of(from(i, j));
            for (int p = 0; p < split_slices; ++p)
                to(i + p * slice_rows, j + p * slice_cols) = slices[static_cast<std::size_t>(p)];
        }
    }
}

/// update_by_slices() for a depth of at most split_depth.
void update_by_short_slices(View<const float> l, TileColumns<const float> u, TileColumns<float> c) {
    const Index m = l.rows(), k = l.cols(), n = u.width;
    std::vector<float> l_memory(static_cast<std::size_t>(split_slices * m * k)),
        u_memory(static_cast<std::size_t>(split_slices * k * n));
    const auto of_l = View<float>::row_major(l_memory.data(), m, split_slices * k, split_slices * k);
    const auto of_u = View<float>::row_major(u_memory.data(), split_slices * k, n, n);
    split(l, of_l, 0, k);  // L_1 L_2 L_3
    for (Index j = 0; j < u.columns; ++j) {
        split(u.column(j), of_u, k, 0);
        float alpha = -1 / (split_step * split_step);
        for (int sum = split_slices - 1; sum >= 0; --sum, alpha *= split_step) {
            for (int p = 0; p <= sum; ++p) {
                blas::gemm<float>(alpha, of_l.block(0, (sum - p) * k, m, k), of_u.block(p * k, 0, k, n), 1,
                                  c.column(j));
            }
        }
    }
}

}  // namespace

void run_on_cpu(UpdateBySlices, View<const float> l, TileColumns<const float> u, TileColumns<float> c, void*) {
    assert(l.rows() == c.rows && l.cols() == u.rows && u.columns == c.columns && u.width == c.width);
    if (c.empty()) return;
    for (Index first = 0; first < l.cols(); first += split_depth) {
        const Index depth = std::min(split_depth, l.cols() - first);
        update_by_short_slices(l.block(0, first, l.rows(), depth), u.row_range(first, depth), c);
    }
}

void run_on_cpu(SubtractTransposedProductBySlices, View<const float> a, View<const float> b, View<float> c, void*) {
    std::vector<float> memory(static_cast<std::size_t>(b.size()));
    const auto columns = View<float>::row_major(memory.data(), b.cols(), b.rows(), b.rows());
    basalt::copy_elements<float>(transposed(b), columns);
    run_on_cpu(UpdateBySlices(), a, one_tile_column(View<const float>(columns)), one_tile_column(c), nullptr);
}

template <>
const UpdateBySlices::Cpu Code<UpdateBySlices>::cpu = cpu_code<UpdateBySlices>;
template <>
const SubtractTransposedProductBySlices::Cpu Code<SubtractTransposedProductBySlices>::cpu =
    cpu_code<SubtractTransposedProductBySlices>;

}  // namespace basalt::on_stream
