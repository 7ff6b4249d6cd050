#pragma once

#include "kernels/cuda/batch/lu_launch.cuh"
#include "kernels/cuda/batch/qr_wide.hpp"

/// QR kernels for one precision: factor_float.cu and factor_double.cu compile them.
namespace basalt::on_stream {

namespace {

/// As small_blocks.
template <class Shape, class T>
constexpr int small_qr_blocks = sizeof(T) == 4      ? 10
                                : Shape::order <= 8 ? 9
                                                    : small_blocks<Shape, T>;

/// As small_blocks, for wide matrices.
template <class Shape, class T>
constexpr int small_wide_blocks = sizeof(T) == 8 && Shape::order == 24 ? 6 : small_blocks<Shape, T>;

/// Of a matrix: with TAU, or with right-hand sides and INFO.
template <class Shape, class T>
__global__ void __launch_bounds__(small_threads, small_qr_blocks<Shape, T>)
    qr_small_factor_kernel(BatchView<T> a, BatchView<T> tau, BatchView<T> b, Index* info, device::Selection selection) {
    __shared__ device::SmallVectors<T, Shape> memory[groups_of<Shape>];
    const LanePlace<Shape> place(a, selection);
    if (place.leaves_all(a)) return;
    const int failed = device::qr_factor_small<Shape>(BlockThread(), memory[place.group], place.matrix(a),
                                                      place.data(tau), place.sides(b));
    if (info != nullptr && place.first_lane) info[place.number] = failed;
}

/// Where A is of a list, TAU may have room for more.
template <class T>
__device__ int reflectors_of(const device::Whole<T>& a, const View<const T>& tau) {
    return tau.rows() < a.cols ? static_cast<int>(tau.rows()) : a.cols;
}

template <class Shape, class T>
__global__ void __launch_bounds__(small_threads, small_blocks<Shape, T>)
    qr_small_form_kernel(BatchView<T> a, BatchView<const T> tau, device::Selection selection) {
    __shared__ device::SmallVectors<T, Shape> memory[groups_of<Shape>];
    const LanePlace<Shape> place(a, selection);
    if (place.leaves_all(a)) return;
    const device::Whole<T> own = place.matrix(a);
    const int reflectors = place.taken ? reflectors_of(own, tau[place.number]) : 0;
    device::qr_form_small<Shape>(BlockThread(), memory[place.group], own, place.data(tau), reflectors);
}

template <class Shape, class T>
__global__ void __launch_bounds__(small_threads, small_wide_blocks<Shape, T>)
    qr_small_wide_kernel(BatchView<T> a, BatchView<T> b, Index* info, device::Selection selection) {
    __shared__ device::SmallVectors<T, Shape> memory[groups_of<Shape>];
    const LanePlace<Shape> place(a, selection);
    if (place.leaves_all(a)) return;
    const int failed = device::wide_least_squares_small<Shape>(BlockThread(), memory[place.group],
                                                               device::wide(place.matrix(a)), place.sides(b));
    if (place.first_lane) info[place.number] = failed;
}

template <int width, int parts, class T>
__global__ void __launch_bounds__(parts* device::lanes, 1)
    qr_block_factor_kernel(BatchView<T> a, BatchView<T> tau, BatchView<T> b, Index* info, device::Selection selection) {
    extern __shared__ __align__(16) unsigned char raw[];
    if (!is_taken(a, selection, blockIdx.x)) return;
    const auto own = device::whole(a[blockIdx.x]);
    const device::QrBlockMemory<T, width> memory(raw, own.rows);
    const int failed = device::qr_factor_block<width, parts>(BlockThread(), memory, memory.end(), own,
                                                             data_of_block(tau), sides_of_block(b));
    if (info != nullptr && threadIdx.x == 0) info[blockIdx.x] = failed;
}

template <int width, int parts, class T>
__global__ void __launch_bounds__(parts* device::lanes, 1)
    qr_block_form_kernel(BatchView<T> a, BatchView<const T> tau, device::Selection selection) {
    extern __shared__ __align__(16) unsigned char raw[];
    if (!is_taken(a, selection, blockIdx.x)) return;
    const auto own = device::whole(a[blockIdx.x]);
    const device::QrBlockMemory<T, width> memory(raw, own.rows);
    device::qr_form_block<width, parts>(BlockThread(), memory, own, data_of_block(tau),
                                        reflectors_of(own, tau[blockIdx.x]));
}

template <int width, int parts, class T>
__global__ void __launch_bounds__(parts* device::lanes, 1)
    qr_block_wide_kernel(BatchView<T> a, BatchView<T> b, Index* info, device::Selection selection) {
    extern __shared__ __align__(16) unsigned char raw[];
    if (!is_taken(a, selection, blockIdx.x)) return;
    const auto own = device::wide(device::whole(a[blockIdx.x]));
    const device::QrBlockMemory<T, width> memory(raw, own.cols);
    const int failed = device::wide_least_squares_block<width, parts>(
        BlockThread(), memory, device::WideMemory<T>(memory.end(), own.rows), own, sides_of_block(b));
    if (threadIdx.x == 0) info[blockIdx.x] = failed;
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
void factor_small_qr(Stream stream, const BatchView<T>& a, const BatchView<T>& tau, const BatchView<T>& b, Index* info,
                     const device::Selection& selection) {
    with_small_shape<T>(selection.most, [&](auto shape) {
        using Shape = decltype(shape);
        qr_small_factor_kernel<Shape, T>
            <<<blocks(lane_grid<Shape>(a.count())), small_threads, 0, native(stream)>>>(a, tau, b, info, selection);
        check_launch("qr_small_factor_kernel", stream);
    });
}

template <int width, int parts, class T>
void factor_qr_blocks(Stream stream, const BatchView<T>& a, const BatchView<T>& tau, const BatchView<T>& b, Index* info,
                      const device::Selection& selection) {
    const std::size_t side = (static_cast<std::size_t>(a.shape().cols()) + device::lanes) * sizeof(T);
    launch_block_each(stream, qr_block_factor_kernel<width, parts, T>, "qr_block_factor_kernel", a.count(),
                      device::lu_block_threads(selection.most),
                      device::QrBlockMemory<T, width>::bytes(selection.most) + (b.count() > 0 ? side : 0), a, tau, b,
                      info, selection);
}

template <class T>
void form_class(Stream stream, const BatchView<T>& a, const BatchView<const T>& tau,
                const device::Selection& selection) {
    if (selection.small) {
        return with_small_shape<T>(selection.most, [&](auto shape) {
            using Shape = decltype(shape);
            qr_small_form_kernel<Shape, T>
                <<<blocks(lane_grid<Shape>(a.count())), small_threads, 0, native(stream)>>>(a, tau, selection);
            check_launch("qr_small_form_kernel", stream);
        });
    }
    with_qr_block<T>(selection.most, [&](auto width, auto parts) {
        launch_block_each(stream, qr_block_form_kernel<width(), parts(), T>, "qr_block_form_kernel", a.count(),
                          device::lu_block_threads(selection.most),
                          device::QrBlockMemory<T, width()>::bytes(selection.most), a, tau, selection);
    });
}

template <class T>
void wide_class(Stream stream, const BatchView<T>& a, const BatchView<T>& b, Index* info,
                const device::Selection& selection) {
    if (selection.small) {
        return with_small_shape<T>(selection.most, [&](auto shape) {
            using Shape = decltype(shape);
            qr_small_wide_kernel<Shape, T>
                <<<blocks(lane_grid<Shape>(a.count())), small_threads, 0, native(stream)>>>(a, b, info, selection);
            check_launch("qr_small_wide_kernel", stream);
        });
    }
    with_qr_block<T>(selection.most, [&](auto width, auto parts) {
        launch_block_each(
            stream, qr_block_wide_kernel<width(), parts(), T>, "qr_block_wide_kernel", a.count(),
            device::lu_block_threads(selection.most),
            device::QrBlockMemory<T, width()>::bytes(selection.most) + device::WideMemory<T>::bytes(selection.most), a,
            b, info, selection);
    });
}

}  // namespace

template <class T>
void run_on_gpu(BatchGeqrf<T>, Stream stream, BatchView<T> a, BatchView<T> tau, BatchLuPlan plan) {
    if (a.count() == 0 || a.shape().empty()) return;
    device::for_each_class(a, BatchShapes::any, [&](const device::Selection& selection) {
        if (selection.small) return factor_small_qr(stream, a, tau, BatchView<T>(), nullptr, selection);
        with_qr_plan<T>(selection.most, plan, [&](auto width, auto parts) {
            factor_qr_blocks<width(), parts()>(stream, a, tau, BatchView<T>(), nullptr, selection);
        });
    });
}

template <class T>
void run_on_gpu(BatchOrgqr<T>, Stream stream, BatchView<T> a, BatchView<const T> tau) {
    if (a.count() == 0 || a.shape().empty()) return;
    device::for_each_class(a, BatchShapes::tall,
                           [&](const device::Selection& selection) { form_class(stream, a, tau, selection); });
}

template <class T>
void run_on_gpu(BatchGels<T>, Stream stream, BatchView<T> a, BatchView<T> b, Index* info) {
    if (a.count() == 0) return;
    const bool all = !a.uniform(), wide = is_wide(a.shape());
    if (b.shape().cols() == 0) {
        check(cudaMemsetAsync(info, 0, static_cast<std::size_t>(a.count()) * sizeof(Index), native(stream)),
              "cudaMemsetAsync", stream);
        return set_initial_info(stream, a, BatchShapes::any, info);
    }
    set_initial_info(stream, a, BatchShapes::any, info);
    if (all || wide) {
        device::for_each_class(a, BatchShapes::wide,
                               [&](const device::Selection& selection) { wide_class(stream, a, b, info, selection); });
    }
    if (!all && wide) return;
    device::for_each_class(a, BatchShapes::tall, [&](const device::Selection& selection) {
        if (selection.small) return factor_small_qr(stream, a, BatchView<T>(), b, info, selection);
        with_qr_block<T>(selection.most, [&](auto width, auto parts) {
            factor_qr_blocks<width(), parts()>(stream, a, BatchView<T>(), b, info, selection);
        });
    });
}

}  // namespace basalt::on_stream
