#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <basalt/view.hpp>

namespace basalt::cuda_kernels {

/// update_leading() takes panels of up to leading_order columns, a multiple of leading_order_step, with up to
/// leading_height rows below their triangle.
inline constexpr Index leading_order = 128, leading_order_step = 32, leading_height = 4096;

/// Whether update_leading() takes these shapes on devices that have its kernel: L and A are row-major, L's rows begin
/// at multiples of 16 bytes and A's of two elements, and L has rows below its triangle.
template <class T>
bool leading_shape_fits(std::type_identity_t<View<const T>> l, View<T> a) {
    const auto rows_begin_at = [](const auto& view, std::size_t bytes) {
        return view.col_stride() == 1 && view.row_stride() <= std::numeric_limits<int>::max() &&
               static_cast<std::size_t>(view.row_stride()) * sizeof(T) % bytes == 0 &&
               reinterpret_cast<std::uintptr_t>(view.data()) % bytes == 0;
    };
    const Index order = l.cols(), below = l.rows() - order;
    return order > 0 && order <= leading_order && order % leading_order_step == 0 && below > 0 &&
           below <= leading_height && rows_begin_at(l, 16) && rows_begin_at(a, 2 * sizeof(T));
}

}  // namespace basalt::cuda_kernels
