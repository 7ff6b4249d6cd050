#pragma once

// Kernels against plain loops; whole arrays are compared, with their gaps and padding. `Kernels` calls the kernels of a
// GPU (cuda_kernels.hpp) or their CPU twins (cpu_twins.hpp); its Memory<T> holds their operands.

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <vector>

#include "kernels/on_stream.hpp"
#include "kernels/reference/gemm.hpp"
#include "kernels/rounding.hpp"
#include "kernels/split_product.hpp"
#include "kernels/triangle.hpp"
#include "tests/common/catch.hpp"
#include "tests/kernels/host_columns.hpp"

namespace basalt_tests {

using namespace basalt;

template <class T, class Kernels>
void check_update(Kernels& kernels) {
    for (const auto& [m, k] : {std::array<Index, 2>{0, 5}, {5, 0}, {1, 1}, {40, 3}, {131, 64}, {77, 150}}) {
        for (const auto& [columns, width, gap] :
             {std::array<Index, 3>{1, 1, 3}, {3, 9, 1}, {2, 300, 0}, {0, 4, 0}, {2, 0, 2}}) {
            HostColumns<T> l(1, m, k, 1), u(columns, k, width, 2, gap), c(columns, m, width, 3, gap + 1);
            typename Kernels::template Memory<T> device_l(kernels, l.values), device_u(kernels, u.values),
                device_c(kernels, c.values);
            kernels(on_stream::update_trailing<T>, View<const T>(l.on(device_l.data()).column(0)),
                    u.on(device_u.data()), c.on(device_c.data()), ProductPrecision::plain);
            for (Index j = 0; j < columns; ++j) {
                reference::gemm<T>(T{-1}, l.column(0), u.column(j), T{1}, c.column(j));
            }
            INFO(m << " x " << width << " x " << k << ", " << columns << " columns");
            REQUIRE(distance(device_c.read(), c.values) <= tolerance<T>(k));
        }
    }
}

/// In TF32 the update is as accurate as that; in full precision, of the same operands, as single precision is, and so
/// is a product in TF32 of operands that are numbers of TF32 already.
template <class Kernels>
void check_update_in_tf32(Kernels& kernels) {
    const Index columns = 3, m = 200, k = 300, width = 130;
    HostColumns<float> l(1, m, k, 1), u(columns, k, width, 2, 3), c(columns, m, width, 3, 4);
    const auto updated = [&](basalt::ProductPrecision precision) {
        typename Kernels::template Memory<float> device_l(kernels, l.values), device_u(kernels, u.values),
            device_c(kernels, c.values);
        kernels(on_stream::update_trailing<float>, View<const float>(l.on(device_l.data()).column(0)),
                u.on(device_u.data()), c.on(device_c.data()), precision);
        return device_c.read();
    };
    const auto error_of = [&](const std::vector<float>& found) {
        HostColumns<float> expected = c;
        for (Index j = 0; j < columns; ++j) {
            reference::gemm<float>(-1, l.column(0), u.column(j), 1, expected.column(j));
        }
        return distance(found, expected.values);
    };
    const double of_tf32 = tolerance<float>(k) * roundoff_of(ProductPrecision::tf32) / 0x1p-24;
    CHECK(error_of(updated(basalt::ProductPrecision::plain)) <= tolerance<float>(k));
    const double error = error_of(updated(basalt::ProductPrecision::tf32));
    CHECK(error <= of_tf32);
    CHECK(error > tolerance<float>(k));
    for (auto* operand : {&l.values, &u.values}) {
        for (float& x : *operand) x = basalt::rounded_to_tf32(x);
    }
    CHECK(error_of(updated(basalt::ProductPrecision::tf32)) <= tolerance<float>(k));
}

/// Largest |C' - (C - L U)|, of what a kernel computed, with the sums in double precision.
inline double largest_error(const HostColumns<float>& computed, HostColumns<float>& c, HostColumns<float>& l,
                            HostColumns<float>& u) {
    double largest = 0;
    HostColumns<float> result = computed;
    for (Index t = 0; t < c.shape.columns; ++t) {
        for (Index i = 0; i < c.shape.rows; ++i) {
            for (Index j = 0; j < c.shape.width; ++j) {
                double sum = c.column(t)(i, j);
                for (Index p = 0; p < l.shape.width; ++p) sum -= double{l.column(0)(i, p)} * double{u.column(t)(p, j)};
                const double error = std::abs(double{result.column(t)(i, j)} - sum);
                if (std::isnan(error)) return error;
                largest = std::max(largest, error);
            }
        }
    }
    return largest;
}

/// Products by slices are as accurate as plain ones of single precision, for large and for small numbers.
template <class Kernels>
void check_update_by_slices(Kernels& kernels, ProductPrecision products) {
    const double more = roundoff_of(products) / roundoff_of(ProductPrecision::split_bf16);
    for (const auto& [m, k] :
         {std::array<Index, 2>{0, 5}, {5, 0}, {1, 1}, {40, 3}, {131, 64}, {77, 256}, {64, 512}, {40, 2500}}) {
        for (const auto& [columns, width, gap] :
             {std::array<Index, 3>{1, 1, 3}, {3, 9, 1}, {2, 64, 0}, {3, 300, 4}, {0, 4, 0}, {2, 0, 2}}) {
            if (width > 64 && m * k > 131 * 64) continue;  // takes long in builds without optimization
            // two fp16 slices have a small range: elements of U are near 1, or up to 2^28
            const bool fp16 = products == ProductPrecision::split_fp16;
            for (const float scale : {1.0F, fp16 ? 0x1p-29F : 0x1p-60F, fp16 ? 1.0F : 0x1p60F}) {
                HostColumns<float> l(1, m, k, 1, gap), u(columns, k, width, 2, gap), c(columns, m, width, 3, gap);
                if (!fp16) {
                    for (float& x : l.values) x *= scale;
                }
                for (float& x : u.values) x *= 1 / scale;
                HostColumns<float> lt(1, k, m, 1, gap);
                for (Index i = 0; i < m; ++i) {
                    for (Index p = 0; p < k; ++p) lt.column(0)(p, i) = l.column(0)(i, p);
                }
                typename Kernels::template Memory<float> device_l(kernels, l.values), device_lt(kernels, lt.values),
                    device_u(kernels, u.values), plain(kernels, c.values);
                typename Kernels::template Memory<float> workspace(
                    kernels,
                    std::vector<float>(basalt::split_workspace(m, std::min(k, basalt::split_depth), columns * width) /
                                       sizeof(float)));
                const View<float> l_view = l.on(device_l.data()).column(0), lt_view = lt.on(device_lt.data()).column(0);
                kernels(on_stream::update_trailing<float>, l_view, u.on(device_u.data()), c.on(plain.data()),
                        ProductPrecision::plain);
                HostColumns<float> result = c;
                result.values = plain.read();
                const double usual = largest_error(result, c, l, u);
                // L and its transpose; no room, room in a tile column, and in the second one
                const View<const float> lefts[] = {l_view, basalt::transposed(lt_view), l_view};
                constexpr on_stream::RoomForOthers rooms[] = {{}, {200, 32}, {400, 32}};
                for (std::size_t i = 0; i < std::size(rooms); ++i) {
                    typename Kernels::template Memory<float> by_slices(kernels, c.values);
                    kernels(on_stream::update_by_slices, lefts[i], TileColumns<const float>(u.on(device_u.data())),
                            c.on(by_slices.data()), products, static_cast<void*>(workspace.data()), rooms[i]);
                    result.values = by_slices.read();
                    const double error = largest_error(result, c, l, u);
                    INFO(m << " x " << width << " x " << k << ", " << columns << " columns, scale " << scale << ": "
                           << error << ", plain " << usual);
                    REQUIRE(error <= 2 * usual + more * 0x1p-22 * (fp16 ? 1 / scale : 1));
                }
            }
        }
    }
}

/// C -= A B^T by slices, against sums in double precision.
template <class Kernels>
void check_transposed_product_by_slices(Kernels& kernels) {
    for (const auto& [m, n, k] : {std::array<Index, 3>{0, 3, 3}, {5, 7, 0}, {1, 1, 1}, {5, 7, 3}, {64, 40, 256}}) {
        HostColumns<float> a(1, m, k, 1), b(1, n, k, 2), c(1, m, n, 3);
        typename Kernels::template Memory<float> device_a(kernels, a.values), device_b(kernels, b.values),
            device_c(kernels, c.values);
        typename Kernels::template Memory<float> workspace(
            kernels, std::vector<float>(basalt::split_workspace(m, k, n) / sizeof(float)));
        kernels(on_stream::subtract_transposed_product_by_slices, View<const float>(a.on(device_a.data()).column(0)),
                View<const float>(b.on(device_b.data()).column(0)), c.on(device_c.data()).column(0),
                ProductPrecision::split_bf16, static_cast<void*>(workspace.data()));
        for (Index i = 0; i < m; ++i) {
            for (Index j = 0; j < n; ++j) {
                double sum = c.column(0)(i, j);
                for (Index p = 0; p < k; ++p) sum -= double{a.column(0)(i, p)} * double{b.column(0)(j, p)};
                c.column(0)(i, j) = static_cast<float>(sum);
            }
        }
        INFO(m << " x " << n << ", depth " << k);
        REQUIRE(distance(device_c.read(), c.values) <= tolerance<float>(k));
    }
}

}  // namespace basalt_tests
