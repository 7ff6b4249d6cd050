#pragma once

#include "kernels/cuda/batch/lu_launch.cuh"
#include "kernels/cuda/batch/qr_block.hpp"

/// QR kernels for one precision: factor_float.cu and factor_double.cu compile them.
namespace basalt::on_stream {

namespace {

/// Of a matrix: with TAU, or with right-hand sides and INFO.
template <class Shape, class T>
__global__ void __launch_bounds__(small_threads, 1)
    qr_small_factor_kernel(BatchView<T> a, BatchView<T> tau, BatchView<T> b, Index* info) {
    __shared__ device::SmallVectors<T, Shape> memory[small_threads / Shape::own_lanes];
    const SmallPlace<Shape> place;
    const auto own = matrix_or_none(a, place.number);
    const int failed = device::qr_factor_small<Shape>(BlockThread(), memory[place.group], own,
                                                      numbers_of(tau, place.number), sides_of(b, place.number));
    if (info != nullptr && own.a != nullptr && place.first_lane) info[place.number] = failed;
}

template <class Shape, class T>
__global__ void __launch_bounds__(small_threads, 1) qr_small_form_kernel(BatchView<T> a, BatchView<const T> tau) {
    __shared__ device::SmallVectors<T, Shape> memory[small_threads / Shape::own_lanes];
    const SmallPlace<Shape> place;
    const int reflectors = place.number < a.count() ? static_cast<int>(tau[place.number].rows()) : 0;
    device::qr_form_small<Shape>(BlockThread(), memory[place.group], matrix_or_none(a, place.number),
                                 numbers_of(tau, place.number), reflectors);
}

template <int width, int parts, class T>
__global__ void __launch_bounds__(parts* device::lanes, 1)
    qr_block_factor_kernel(BatchView<T> a, BatchView<T> tau, BatchView<T> b, Index* info) {
    extern __shared__ __align__(16) unsigned char raw[];
    const auto own = device::whole(a[blockIdx.x]);
    const device::QrBlockMemory<T, width> memory(raw, own.rows);
    T* const x = memory.tau + width;  // behind the memory of the factorization
    const int failed = device::qr_factor_block<width, parts>(BlockThread(), memory, x, own, numbers_of(tau, blockIdx.x),
                                                             sides_of(b, blockIdx.x));
    if (info != nullptr && threadIdx.x == 0) info[blockIdx.x] = failed;
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

/// Calls f(width, parts of a column in a warp) for matrices of as many rows. A block of 512 threads leaves 128
/// registers to each, which hold a narrow panel only.
template <class T, class F>
void with_qr_block(Index rows, const F& f) {
    if (rows > 256) return f(Constant < sizeof(T) == 4 ? 8 : 4 > (), Constant<16>());
    if (rows > 128) return f(Constant<8>(), Constant<8>());
    f(Constant<8>(), Constant<4>());
}
/// The same with the width that the plan asks for.
template <class T, class F>
void with_qr_plan(Index rows, BatchLuPlan plan, const F& f) {
    const bool wide = plan.width > 8;
    if (rows <= 128 && plan.width < 8) return f(Constant<4>(), Constant<4>());
    if (rows <= 128 && wide) return f(Constant<16>(), Constant<4>());
    if (rows > 128 && rows <= 256 && wide) return f(Constant<16>(), Constant<8>());
    with_qr_block<T>(rows, f);
}

template <class T>
bool is_small_qr(const BatchView<T>& a) {
    return a.shape().rows() <= device::lanes && a.shape().cols() <= device::lanes;
}

template <class T, class F>
void with_qr_shape(const BatchView<T>& a, const F& f) {
    with_small_shape<T>(a.shape().rows() > a.shape().cols() ? a.shape().rows() : a.shape().cols(), f);
}

template <class T>
void factor_small_qr(Stream stream, const BatchView<T>& a, const BatchView<T>& tau, const BatchView<T>& b,
                     Index* info) {
    with_qr_shape<T>(a, [&](auto shape) {
        using Shape = decltype(shape);
        qr_small_factor_kernel<Shape, T>
            <<<blocks(small_grid<Shape>(a.count())), small_threads, 0, native(stream)>>>(a, tau, b, info);
        check_launch("qr_small_factor_kernel", stream);
    });
}

template <int width, int parts, class T>
void factor_qr_blocks(Stream stream, const BatchView<T>& a, const BatchView<T>& tau, const BatchView<T>& b,
                      Index* info) {
    const int rows = static_cast<int>(a.shape().rows());
    const std::size_t side = (static_cast<std::size_t>(a.shape().cols()) + device::lanes) * sizeof(T);
    launch_block_each(stream, qr_block_factor_kernel<width, parts, T>, "qr_block_factor_kernel", a.count(),
                      device::lu_block_threads(rows),
                      device::QrBlockMemory<T, width>::bytes(rows) + (b.count() > 0 ? side : 0), a, tau, b, info);
}

}  // namespace

template <class T>
void run_on_gpu(BatchGeqrf<T>, Stream stream, BatchView<T> a, BatchView<T> tau, BatchLuPlan plan) {
    if (a.count() == 0 || a.shape().empty()) return;
    if (is_small_qr(a)) return factor_small_qr(stream, a, tau, BatchView<T>(), nullptr);
    with_qr_plan<T>(a.shape().rows(), plan, [&](auto width, auto parts) {
        factor_qr_blocks<width(), parts()>(stream, a, tau, BatchView<T>(), nullptr);
    });
}

template <class T>
void run_on_gpu(BatchOrgqr<T>, Stream stream, BatchView<T> a, BatchView<const T> tau) {
    if (a.count() == 0 || a.shape().empty()) return;
    if (is_small_qr(a)) {
        return with_qr_shape<T>(a, [&](auto shape) {
            using Shape = decltype(shape);
            qr_small_form_kernel<Shape, T>
                <<<blocks(small_grid<Shape>(a.count())), small_threads, 0, native(stream)>>>(a, tau);
            check_launch("qr_small_form_kernel", stream);
        });
    }
    const int rows = static_cast<int>(a.shape().rows());
    with_qr_block<T>(rows, [&](auto width, auto parts) {
        launch_block_each(stream, qr_block_form_kernel<width(), parts(), T>, "qr_block_form_kernel", a.count(),
                          device::lu_block_threads(rows), device::QrBlockMemory<T, width()>::bytes(rows), a, tau);
    });
}

template <class T>
void run_on_gpu(BatchGels<T>, Stream stream, BatchView<T> a, BatchView<T> b, Index* info) {
    if (a.count() == 0) return;
    if (a.shape().empty() || b.shape().cols() == 0) {
        check(cudaMemsetAsync(info, 0, static_cast<std::size_t>(a.count()) * sizeof(Index), native(stream)),
              "cudaMemsetAsync", stream);
        return;
    }
    if (is_small_qr(a)) return factor_small_qr(stream, a, BatchView<T>(), b, info);
    with_qr_block<T>(a.shape().rows(), [&](auto width, auto parts) {
        factor_qr_blocks<width(), parts()>(stream, a, BatchView<T>(), b, info);
    });
}

}  // namespace basalt::on_stream
