#pragma once

#include "kernels/cuda/batch/lu_launch.cuh"
#include "kernels/cuda/batch/qr_block.hpp"

/// QR kernels for one precision: factor_float.cu and factor_double.cu compile them.
namespace basalt::on_stream {

namespace {

template <class Shape, class T>
__global__ void __launch_bounds__(lu_small_threads, 1) qr_small_factor_kernel(BatchView<T> a, BatchView<T> tau) {
    __shared__ device::SmallVectors<T, Shape> memory[lu_small_threads / Shape::own_lanes];
    const LuPlace<Shape> place;
    device::qr_factor_small<Shape>(BlockThread(), memory[place.group], matrix_or_none(a, place.number),
                                   numbers_of(tau, place.number));
}

template <class Shape, class T>
__global__ void __launch_bounds__(lu_small_threads, 1) qr_small_form_kernel(BatchView<T> a, BatchView<const T> tau) {
    __shared__ device::SmallVectors<T, Shape> memory[lu_small_threads / Shape::own_lanes];
    const LuPlace<Shape> place;
    const int reflectors = place.number < a.count() ? static_cast<int>(tau[place.number].rows()) : 0;
    device::qr_form_small<Shape>(BlockThread(), memory[place.group], matrix_or_none(a, place.number),
                                 numbers_of(tau, place.number), reflectors);
}

template <class Shape, class T>
__global__ void __launch_bounds__(lu_small_threads, 1)
    least_squares_small_kernel(BatchView<T> a, BatchView<T> b, Index* info) {
    __shared__ device::SmallVectors<T, Shape> memory[lu_small_threads / Shape::own_lanes];
    const LuPlace<Shape> place;
    const auto own = matrix_or_none(a, place.number);
    const int failed =
        device::least_squares_small<Shape>(BlockThread(), memory[place.group], own, sides_of(b, place.number));
    if (own.a != nullptr && place.first_lane) info[place.number] = failed;
}

template <int width, int parts, class T>
__global__ void __launch_bounds__(parts* device::lanes, 1) qr_block_factor_kernel(BatchView<T> a, BatchView<T> tau) {
    extern __shared__ __align__(16) unsigned char raw[];
    const auto own = device::whole(a[blockIdx.x]);
    const device::QrBlockMemory<T, width> memory(raw, own.rows);
    device::qr_factor_block<width, parts>(BlockThread(), memory, own, numbers_of(tau, blockIdx.x),
                                          device::RightSides<T>{nullptr, 1, 0});
}

template <int width, int parts, class T>
__global__ void __launch_bounds__(parts* device::lanes, 1)
    qr_block_form_kernel(BatchView<T> a, BatchView<const T> tau) {
    extern __shared__ __align__(16) unsigned char raw[];
    const auto own = device::whole(a[blockIdx.x]);
    const device::QrBlockMemory<T, width> memory(raw, own.rows);
    device::qr_form_block<width, parts>(BlockThread(), memory, own, numbers_of(tau, blockIdx.x),
                                        static_cast<int>(tau[blockIdx.x].rows()));
}

template <int width, int parts, class T>
__global__ void __launch_bounds__(parts* device::lanes, 1)
    least_squares_block_kernel(BatchView<T> a, BatchView<T> b, Index* info) {
    extern __shared__ __align__(16) unsigned char raw[];
    const auto own = device::whole(a[blockIdx.x]);
    const device::QrBlockMemory<T, width> memory(raw, own.rows);
    T* const x = memory.tau + width;  // behind the memory of the factorization
    const int failed =
        device::least_squares_block<width, parts>(BlockThread(), memory, x, own, sides_of(b, blockIdx.x));
    if (threadIdx.x == 0) info[blockIdx.x] = failed;
}

template <int value>
using QrConstant = std::integral_constant<int, value>;

/// Calls f(width, parts of a column in a warp) for matrices of as many rows. A block of 512 threads leaves 128
/// registers to each, which hold a narrow panel only.
template <class T, class F>
void with_qr_block(Index rows, BatchLuPlan plan, const F& f) {
    const bool wide = plan.width > 8;
    if (rows > 256) return f(QrConstant < sizeof(T) == 4 ? 8 : 4 > (), QrConstant<16>());
    if (rows > 128) return wide ? f(QrConstant<16>(), QrConstant<8>()) : f(QrConstant<8>(), QrConstant<8>());
    wide ? f(QrConstant<16>(), QrConstant<4>()) : f(QrConstant<8>(), QrConstant<4>());
}

template <class T>
bool is_small_qr(const BatchView<T>& a) {
    return a.shape().rows() <= device::lanes && a.shape().cols() <= device::lanes;
}

template <class T, class F>
void with_qr_shape(const BatchView<T>& a, const F& f) {
    with_lu_shape<T>(a.shape().rows() > a.shape().cols() ? a.shape().rows() : a.shape().cols(), f);
}

}  // namespace

template <class T>
void run_on_gpu(BatchGeqrf<T>, Stream stream, BatchView<T> a, BatchView<T> tau, BatchLuPlan plan) {
    if (a.count() == 0 || a.shape().empty()) return;
    if (is_small_qr(a)) {
        return with_qr_shape<T>(a, [&](auto shape) {
            using Shape = decltype(shape);
            qr_small_factor_kernel<Shape, T>
                <<<blocks(lu_small_grid<Shape>(a.count())), lu_small_threads, 0, native(stream)>>>(a, tau);
            check_launch("qr_small_factor_kernel", stream);
        });
    }
    const int rows = static_cast<int>(a.shape().rows());
    with_qr_block<T>(rows, plan, [&](auto width, auto parts) {
        launch_block_each(stream, qr_block_factor_kernel<width(), parts(), T>, "qr_block_factor_kernel", a.count(),
                          device::lu_block_threads(rows), device::QrBlockMemory<T, width()>::bytes(rows), a, tau);
    });
}

template <class T>
void run_on_gpu(BatchOrgqr<T>, Stream stream, BatchView<T> a, BatchView<const T> tau, BatchLuPlan plan) {
    if (a.count() == 0 || a.shape().empty()) return;
    if (is_small_qr(a)) {
        return with_qr_shape<T>(a, [&](auto shape) {
            using Shape = decltype(shape);
            qr_small_form_kernel<Shape, T>
                <<<blocks(lu_small_grid<Shape>(a.count())), lu_small_threads, 0, native(stream)>>>(a, tau);
            check_launch("qr_small_form_kernel", stream);
        });
    }
    const int rows = static_cast<int>(a.shape().rows());
    with_qr_block<T>(rows, plan, [&](auto width, auto parts) {
        launch_block_each(stream, qr_block_form_kernel<width(), parts(), T>, "qr_block_form_kernel", a.count(),
                          device::lu_block_threads(rows), device::QrBlockMemory<T, width()>::bytes(rows), a, tau);
    });
}

template <class T>
void run_on_gpu(BatchGels<T>, Stream stream, BatchView<T> a, BatchView<T> b, Index* info, BatchLuPlan plan) {
    if (a.count() == 0) return;
    if (a.shape().empty() || b.shape().cols() == 0) {
        check(cudaMemsetAsync(info, 0, static_cast<std::size_t>(a.count()) * sizeof(Index), native(stream)),
              "cudaMemsetAsync", stream);
        return;
    }
    if (is_small_qr(a)) {
        return with_qr_shape<T>(a, [&](auto shape) {
            using Shape = decltype(shape);
            least_squares_small_kernel<Shape, T>
                <<<blocks(lu_small_grid<Shape>(a.count())), lu_small_threads, 0, native(stream)>>>(a, b, info);
            check_launch("least_squares_small_kernel", stream);
        });
    }
    const int rows = static_cast<int>(a.shape().rows());
    with_qr_block<T>(rows, plan, [&](auto width, auto parts) {
        const std::size_t side = (static_cast<std::size_t>(a.shape().cols()) + device::lanes) * sizeof(T);
        launch_block_each(stream, least_squares_block_kernel<width(), parts(), T>, "least_squares_block_kernel",
                          a.count(), device::lu_block_threads(rows),
                          device::QrBlockMemory<T, width()>::bytes(rows) + side, a, b, info);
    });
}

}  // namespace basalt::on_stream
