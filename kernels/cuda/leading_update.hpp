#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <basalt/device.hpp>

#include "kernels/row_moves.hpp"

namespace basalt::cuda_kernels {

/// update_leading() takes panels of so many columns at most, a multiple of leading_order_step, and so many rows below
/// their triangle at most.
inline constexpr Index leading_order = 128, leading_order_step = 32, leading_height = 4096;

/// Whether update_leading() takes these shapes, on devices that have its kernel: L and A are row-major, L's rows begin
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

/// The same for the GPU `device`, which is the calling thread's; false where it has no clusters of 16 blocks. The first
/// call asks, and prepares the kernels. For float and double.
template <class T>
bool leading_update_fits(int device, std::type_identity_t<View<const T>> l, View<T> a);

/// What a factored panel L (a unit lower triangle above what is below it) does to columns A beside it, of as many rows:
/// the interchanges `moves` (of l.cols() rows, in numbers of A's), U = L^-1 A in its top rows, A -= L U below. The same
/// as exchange_rows(), solve_by_substitution() and update_trailing(), for few columns in less time: one launch, whose
/// blocks work on 32 columns each. leading_update_fits() has said that it can be done. Of an odd number of columns the
/// element right of the last one is read. All lie in the device's memory; enqueued on the stream, DeviceError where
/// that fails. For float and double.
template <class T>
void update_leading(Stream stream, std::type_identity_t<View<const T>> l, RowMoves moves, View<T> a);

}  // namespace basalt::cuda_kernels
