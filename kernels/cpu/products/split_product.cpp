#include "kernels/cpu/products/split_product.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "kernels/cpu/blas/blas.hpp"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/products.hpp"
#include "kernels/rounding.hpp"
#include "kernels/triangle.hpp"
#include "tiles/copy.hpp"

namespace basalt::cpu_kernels {

float rounded_slice(float x, SliceFormat format) {
    return format == SliceFormat::fp16 ? rounded_to_fp16(x) : rounded_to_bf16(x);
}

std::array<float, split_slices> slices_of(float x, const Slicing& slicing) {
    if (!std::isfinite(x)) return {x, 0, 0};
    std::array<float, split_slices> slices{};
    float left = x;
    for (int p = 0; p < slicing.count; ++p) {
        const float slice = rounded_slice(left, slicing.format);
        slices[static_cast<std::size_t>(p)] = slice;
        left = (left - slice) * slicing.step();
    }
    return slices;
}

}  // namespace basalt::cpu_kernels

namespace basalt::on_stream {

namespace {

float largest_finite(float largest, View<const float> a) {
    for (Index i = 0; i < a.rows(); ++i) {
        for (Index j = 0; j < a.cols(); ++j) {
            if (std::isfinite(a(i, j))) largest = std::max(largest, std::abs(a(i, j)));
        }
    }
    return largest;
}

/// The factor of l, whose inverse is that of u.
float balance(const TileColumns<const float>& u, const Slicing& slicing) {
    if (slicing.range == OperandRange::as_it_is) return 1;
    float largest = 0;
    for (Index j = 0; j < u.columns; ++j) largest = largest_finite(largest, u.column(j));
    return power_of_two(balance_of(largest));
}

/// The slices of all elements, times `factor`, that products take, as kernels/split_product.hpp says: those of
/// product i from row i * slice_rows and column i * slice_cols on.
void split(View<const float> from, Side side, float factor, View<float> to, Index slice_rows, Index slice_cols,
           const Slicing& slicing) {
    for (Index i = 0; i < from.rows(); ++i) {
        for (Index j = 0; j < from.cols(); ++j) {
            const std::array<float, split_slices> slices = cpu_kernels::slices_of(from(i, j) * factor, slicing);
            for (int p = 0; p < slice_products(slicing.count); ++p) {
                const auto [left, right] = slice_product(slicing.count, p);
                float& slice = to(i + p * slice_rows, j + p * slice_cols);
                slice = slices[static_cast<std::size_t>(side == Side::left ? left : right)];
                const float divisor = side == Side::left ? slicing.left : slicing.right;
                for (int divisions = left + right; divisions > 0; --divisions) slice /= divisor;
                slice = cpu_kernels::rounded_slice(slice, slicing.format);
            }
        }
    }
}

/// update_by_slices() for a depth of at most split_depth.
void update_by_short_slices(View<const float> l, TileColumns<const float> u, TileColumns<float> c,
                            const Slicing& slicing) {
    const Index m = l.rows(), k = l.cols(), n = u.width, products = slice_products(slicing.count);
    std::vector<float> l_memory(static_cast<std::size_t>(products * m * k)),
        u_memory(static_cast<std::size_t>(products * k * n));
    const auto of_l = View<float>::row_major(l_memory.data(), m, products * k, products * k);
    const auto of_u = View<float>::row_major(u_memory.data(), products * k, n, n);
    const float factor = balance(u, slicing);
    split(l, Side::left, factor, of_l, 0, k, slicing);
    for (Index j = 0; j < u.columns; ++j) {
        split(u.column(j), Side::right, 1 / factor, of_u, k, 0, slicing);
        blas::gemm<float>(-1, of_l, of_u, 1, c.column(j));
    }
}

}  // namespace

void run_on_cpu(UpdateBySlices, View<const float> l, TileColumns<const float> u, TileColumns<float> c,
                ProductPrecision precision, void*, RoomForOthers) {
    assert(l.rows() == c.rows && l.cols() == u.rows && u.columns == c.columns && u.width == c.width);
    if (c.empty()) return;
    for (Index first = 0; first < l.cols(); first += split_depth) {
        const Index depth = std::min(split_depth, l.cols() - first);
        update_by_short_slices(l.block(0, first, l.rows(), depth), u.row_range(first, depth), c, slicing_of(precision));
    }
}

void run_on_cpu(SubtractTransposedProductBySlices, View<const float> a, View<const float> b, View<float> c,
                ProductPrecision precision, void*) {
    std::vector<float> memory(static_cast<std::size_t>(b.size()));
    const auto columns = View<float>::row_major(memory.data(), b.cols(), b.rows(), b.rows());
    basalt::copy_elements<float>(transposed(b), columns);
    run_on_cpu(UpdateBySlices(), a, one_tile_column(View<const float>(columns)), one_tile_column(c), precision, nullptr,
               {});
}

template <>
const UpdateBySlices::Cpu Code<UpdateBySlices>::cpu = cpu_code<UpdateBySlices>;
template <>
const SubtractTransposedProductBySlices::Cpu Code<SubtractTransposedProductBySlices>::cpu =
    cpu_code<SubtractTransposedProductBySlices>;

}  // namespace basalt::on_stream
