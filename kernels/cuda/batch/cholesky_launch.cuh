#pragma once

#include <string>

#include "kernels/cuda/batch/cholesky_lanes.hpp"
#include "kernels/cuda/batch/cholesky_tiles.hpp"
#include "kernels/cuda/batch/launch.cuh"
#include "kernels/cuda/batch/panels.hpp"
#include "kernels/cuda/batch/solve_tiles.hpp"
#include "kernels/on_stream/batch.hpp"
#include "kernels/on_stream/implement.hpp"

/// Cholesky kernels for one precision: cholesky_float.cu and cholesky_double.cu compile them.
namespace basalt::on_stream {

namespace {

template <class Shape, class T>
__device__ device::Operand<T> lane_operand(const LanePlace<Shape>& place, Triangle triangle, const BatchView<T>& a) {
    if (!place.taken) return {nullptr, 0, 0, 0};
    return device::operand(triangle, a[place.number]);
}

template <class Shape, class T>
__global__ void __launch_bounds__(Shape::threads, device::lanes_factor_blocks<T>(Shape::order))
    lanes_factor_kernel(Triangle triangle, BatchView<T> a, Index* info, device::Selection selection) {
    __shared__ device::TriangleColumns<T, Shape> memory[groups_of<Shape>];
    const LanePlace<Shape> place(a, selection);
    if (place.leaves_all(a)) return;
    const int failed =
        device::factor_in_lanes<Shape>(BlockThread(), memory[place.group], lane_operand(place, triangle, a));
    if (place.first_lane) info[place.number] = failed;
}

/// For one right-hand side.
template <class Shape, class T>
__global__ void __launch_bounds__(Shape::threads, 1)
    lanes_solve_kernel(Triangle triangle, BatchView<const T> factors, BatchView<T> b, const Index* info,
                       device::Selection selection) {
    __shared__ device::TriangleRows<T, Shape> memory[groups_of<Shape>];
    LanePlace<Shape> place(factors, selection);
    if (place.leaves_all(factors)) return;
    if (place.taken && info != nullptr && info[place.number] > 0) place.taken = false;
    device::solve_in_lanes<Shape>(BlockThread(), memory[place.group], lane_operand(place, triangle, factors),
                                  place.sides(b).b);
}

/// For one right-hand side.
template <class Shape, class T>
__global__ void __launch_bounds__(Shape::threads, device::lanes_both_blocks<T>(Shape::order))
    lanes_both_kernel(Triangle triangle, BatchView<T> a, BatchView<T> b, Index* info, device::FactorOutput output,
                      device::Selection selection) {
    __shared__ device::TriangleBoth<T, Shape> memory[groups_of<Shape>];
    const LanePlace<Shape> place(a, selection);
    if (place.leaves_all(a)) return;
    const int failed = device::factor_solve_in_lanes<Shape>(BlockThread(), memory[place.group],
                                                            lane_operand(place, triangle, a), output, place.sides(b).b);
    if (place.first_lane) info[place.number] = failed;
}

/// For several right-hand sides.
template <class Shape, class T>
__global__ void __launch_bounds__(small_threads, 1)
    small_solve_kernel(Triangle triangle, BatchView<const T> factors, BatchView<T> b, device::Selection selection) {
    __shared__ device::SmallFactor<T, Shape> memory[groups_of<Shape>];
    const LanePlace<Shape> place(factors, selection);
    if (place.leaves_all(factors)) return;
    device::load_solve_small<Shape, 4>(BlockThread(), memory[place.group], lane_operand(place, triangle, factors),
                                       place.sides(b));
}

/// For several right-hand sides.
template <class Shape, class T>
__global__ void __launch_bounds__(small_threads, small_blocks<Shape, T>)
    small_both_kernel(Triangle triangle, BatchView<T> a, BatchView<T> b, Index* info, device::FactorOutput output,
                      device::Selection selection) {
    __shared__ device::SmallBoth<T, Shape> memory[groups_of<Shape>];
    const LanePlace<Shape> place(a, selection);
    if (place.leaves_all(a)) return;
    const int failed = device::factor_solve_small<Shape, 4>(BlockThread(), memory[place.group],
                                                            lane_operand(place, triangle, a), output, place.sides(b));
    if (place.first_lane) info[place.number] = failed;
}

template <device::Residence residence, int width, class T>
__global__ void __launch_bounds__(device::most_panel_threads,
                                  residence == device::Residence::shared ? device::panel_blocks<T, width> : 1)
    panels_factor_kernel(Triangle triangle, BatchView<T> a, Index* info, device::Selection selection) {
    extern __shared__ __align__(16) unsigned char raw[];
    if (!is_taken(a, selection, blockIdx.x)) return;
    const auto own = device::operand(triangle, a[blockIdx.x]);
    const device::PanelMemory<T, width> memory(raw, device::padded_order(own.n, width), 0);
    const int failed = device::factor_panels<residence>(BlockThread(), memory, own, device::FactorOutput::keep);
    if (threadIdx.x == 0) info[blockIdx.x] = failed;
}

/// T is double; a template, so that only one of the two precisions has it.
template <int most_threads, class T>
__global__ void __launch_bounds__(most_threads, device::tiles_factor_blocks(most_threads))
    tiles_factor_kernel(Triangle triangle, BatchView<T> a, Index* info, device::Selection selection) {
    extern __shared__ __align__(16) unsigned char raw[];
    if (!is_taken(a, selection, blockIdx.x)) return;
    constexpr auto registers = device::tiles_factor_registers(most_threads, device::tiles_factor_blocks(most_threads));
    const device::CholeskyTileMemory memory{reinterpret_cast<T*>(raw)};
    const device::CountedOperand own(device::operand(triangle, a[blockIdx.x]));
    const int failed = device::cholesky_factor_tiles<registers>(BlockThread(), memory, own);
    if (threadIdx.x == 0) info[blockIdx.x] = failed;
}

/// For one right-hand side.
template <int most_threads, class T>
__global__ void __launch_bounds__(most_threads, device::unpacked_solve_blocks)
    panels_solve_kernel(Triangle triangle, BatchView<const T> factors, BatchView<T> b, const Index* info,
                        device::Selection selection) {
    extern __shared__ __align__(16) unsigned char raw[];
    if (is_left(factors, selection, info, blockIdx.x)) return;
    constexpr int width = device::unpacked_solve_width;
    const auto own = device::operand(triangle, factors[blockIdx.x]);
    const device::PanelMemory<T, width> memory(raw, device::padded_order(own.n, width), 1);
    device::load_solve_panels<device::Residence::global, width, 1>(BlockThread(), memory, own, sides_of_block(b));
}

/// For several, or for large matrices, of which each has `parts` blocks. With 80 registers the one for floats would
/// spill.
template <class T>
__global__ void __launch_bounds__(device::most_panel_threads, sizeof(T) == 4 ? 2 : 3)
    tiles_solve_kernel(Triangle triangle, BatchView<const T> factors, BatchView<T> b, const Index* info,
                       device::Selection selection, int parts) {
    extern __shared__ __align__(16) unsigned char raw[];
    const SystemPart part(parts);
    if (is_left(factors, selection, info, part.number)) return;
    const auto own = device::operand(triangle, factors[part.number]);
    const device::SolveTilesMemory<T> memory(raw);
    device::cholesky_solve_tiles(BlockThread(), memory, own, sides_of(b, part.number), part.tiles);
}

template <int width, int sides, class T>
__global__ void __launch_bounds__(device::most_panel_threads, sides == 1 ? device::panel_blocks<T, width> : 1)
    panels_both_kernel(Triangle triangle, BatchView<T> a, BatchView<T> b, Index* info, device::FactorOutput output,
                       device::Selection selection) {
    extern __shared__ __align__(16) unsigned char raw[];
    if (!is_taken(a, selection, blockIdx.x)) return;
    const auto own = device::operand(triangle, a[blockIdx.x]);
    const device::PanelMemory<T, width> memory(raw, device::padded_order(own.n, width), sides);
    const int failed = device::factor_solve_panels<width, sides>(BlockThread(), memory, own, output, sides_of_block(b));
    if (threadIdx.x == 0) info[blockIdx.x] = failed;
}

template <class F>
void with_width(BatchPlan plan, const F& f) {
    if (plan.width == 8) return f(Constant<8>());
    if (plan.width == 32) return f(Constant<32>());
    f(Constant<16>());
}
/// Whether L fits into shared memory, next to as many right-hand sides.
template <class T>
bool factor_fits(Stream stream, Index n, BatchPlan plan, int sides) {
    bool fits = false;
    with_width(plan, [&](auto width) {
        const int order = device::padded_order(static_cast<int>(n), width());
        fits = device::PanelMemory<T, width()>::bytes(order, sides, device::Residence::shared) <=
               most_batch_shared(stream);
    });
    return fits;
}

template <device::Residence residence, int width, class T>
void factor_by_panels(Stream stream, Triangle triangle, const BatchView<T>& a, Index* info,
                      const device::Selection& selection) {
    const int n = selection.most;
    launch_block_each(stream, panels_factor_kernel<residence, width, T>, "panels_factor_kernel", a.count(),
                      device::panel_threads(n, width),
                      device::PanelMemory<T, width>::bytes(device::padded_order(n, width), 0, residence), triangle, a,
                      info, selection);
}

template <int most_threads, class T>
void factor_by_tiles(Stream stream, Triangle triangle, const BatchView<T>& a, Index* info,
                     const device::Selection& selection) {
    const int threads = device::panel_threads(selection.most, device::lanes);
    if constexpr (most_threads < device::most_panel_threads) {
        if (threads > most_threads) {
            return factor_by_tiles<device::tiles_factor_bound(most_threads + 1)>(stream, triangle, a, info, selection);
        }
    }
    launch_block_each(stream, tiles_factor_kernel<most_threads, T>, "tiles_factor_kernel", a.count(), threads,
                      device::CholeskyTileMemory::bytes(), triangle, a, info, selection);
}

template <int most_threads, class T>
void solve_by_panels(Stream stream, Triangle triangle, const BatchView<const T>& factors, const BatchView<T>& b,
                     const Index* info, const device::Selection& selection) {
    constexpr int width = device::unpacked_solve_width;
    const int n = selection.most;
    launch_block_each(
        stream, panels_solve_kernel<most_threads, T>, "panels_solve_kernel", b.count(), device::panel_threads(n, width),
        device::PanelMemory<T, width>::bytes(device::padded_order(n, width), 1, device::Residence::global), triangle,
        factors, b, info, selection);
}

/// Calls f(TriangleShape) for the padded order, with Lanes::of(order) lanes a matrix.
template <class T, class Lanes, class F>
void with_triangle_shape(int n, const F& f) {
    const auto call = [&]<int order>(Constant<order> /*padded*/) {
        f(device::TriangleShape<T, order, Lanes::of(order)>());
    };
    switch (device::padded_in_lanes(n)) {
        case 4: return call(Constant<4>());
        case 8: return call(Constant<8>());
        case 16: return call(Constant<16>());
        case 24: return call(Constant<24>());
        case 32: return call(Constant<32>());
        case 40: return call(Constant<40>());
        case 48: return call(Constant<48>());
        case 64: return call(Constant<64>());
        default: break;
    }
    if constexpr (sizeof(T) == 4) device::padded_in_lanes(n) == 80 ? call(Constant<80>()) : call(Constant<96>());
}
struct LanesToFactor {
    static constexpr int of(int order) { return device::lanes_to_factor(order); }
};
template <class T>
struct LanesToSolve {
    static constexpr int of(int order) { return device::lanes_to_solve<T>(order); }
};

template <class T>
void solve_one_or_large(Stream stream, Triangle triangle, const BatchView<const T>& factors, const BatchView<T>& b,
                        const Index* info, const device::Selection& selection) {
    if (b.shape().cols() == 1 && selection.most <= device::most_in_lanes<T>) {
        return with_triangle_shape<T, LanesToSolve<T>>(selection.most, [&](auto shape) {
            using Shape = decltype(shape);
            lanes_solve_kernel<Shape, T><<<blocks(lane_grid<Shape>(b.count())), Shape::threads, 0, native(stream)>>>(
                triangle, factors, b, info, selection);
            check_launch("lanes_solve_kernel", stream);
        });
    }
    const int n = selection.most;
    if constexpr (sizeof(T) == 4) {
        if (b.shape().cols() == 1) {
            constexpr int narrow = device::narrow_solve_threads, most = device::most_panel_threads;
            if (n > narrow) return solve_by_panels<most>(stream, triangle, factors, b, info, selection);
            return solve_by_panels<narrow>(stream, triangle, factors, b, info, selection);
        }
    }
    const int parts = parts_of_sides(b, true);
    launch_block_each(stream, tiles_solve_kernel<T>, "tiles_solve_kernel", b.count() * parts,
                      device::panel_threads(n, device::lanes), device::SolveTilesMemory<T>::bytes(n), triangle, factors,
                      b, info, selection, parts);
}

template <class T>
void factor_class(Stream stream, Triangle triangle, const BatchView<T>& a, Index* info, BatchPlan plan,
                  const device::Selection& selection) {
    const int n = selection.most;
    if (n <= device::most_in_lanes<T>) {
        return with_triangle_shape<T, LanesToFactor>(n, [&](auto shape) {
            using Shape = decltype(shape);
            lanes_factor_kernel<Shape, T><<<blocks(lane_grid<Shape>(a.count())), Shape::threads, 0, native(stream)>>>(
                triangle, a, info, selection);
            check_launch("lanes_factor_kernel", stream);
        });
    }
    if constexpr (sizeof(T) == 8) {
        if (n > device::most_panel_factor && has_counted_elements(a, n)) {
            return factor_by_tiles<device::tiles_factor_bound(1)>(stream, triangle, a, info, selection);
        }
    }
    if (!factor_fits<T>(stream, n, plan, 0)) {
        return factor_by_panels<device::Residence::global, 16>(stream, triangle, a, info, selection);
    }
    with_width(plan, [&](auto width) {
        factor_by_panels<device::Residence::shared, width()>(stream, triangle, a, info, selection);
    });
}

template <class T>
void solve_class(Stream stream, Triangle triangle, const BatchView<const T>& factors, const BatchView<T>& b,
                 const device::Selection& selection) {
    if (!selection.small || b.shape().cols() == 1)
        return solve_one_or_large<T>(stream, triangle, factors, b, nullptr, selection);
    with_small_shape<T>(selection.most, [&](auto shape) {
        using Shape = decltype(shape);
        small_solve_kernel<Shape, T><<<blocks(lane_grid<Shape>(b.count())), small_threads, 0, native(stream)>>>(
            triangle, factors, b, selection);
        check_launch("small_solve_kernel", stream);
    });
}

template <class T>
void factor_solve_class(Stream stream, Triangle triangle, const BatchView<T>& a, const BatchView<T>& b, Index* info,
                        BatchFactor factor, BatchPlan plan, const device::Selection& selection) {
    const device::FactorOutput output =
        factor == BatchFactor::keep ? device::FactorOutput::keep : device::FactorOutput::discard;
    const int n = selection.most;
    if (b.shape().cols() == 1 && n <= device::most_in_lanes<T>) {
        return with_triangle_shape<T, LanesToFactor>(n, [&](auto shape) {
            using Shape = decltype(shape);
            lanes_both_kernel<Shape, T><<<blocks(lane_grid<Shape>(a.count())), Shape::threads, 0, native(stream)>>>(
                triangle, a, b, info, output, selection);
            check_launch("lanes_both_kernel", stream);
        });
    }
    if (selection.small) {
        return with_small_shape<T>(n, [&](auto shape) {
            using Shape = decltype(shape);
            small_both_kernel<Shape, T><<<blocks(lane_grid<Shape>(a.count())), small_threads, 0, native(stream)>>>(
                triangle, a, b, info, output, selection);
            check_launch("small_both_kernel", stream);
        });
    }
    if (!factor_fits<T>(stream, n, plan, 4) ||
        (factor == BatchFactor::keep && !device::one_kernel_is_faster<T>(n, b.shape().cols()))) {
        factor_class(stream, triangle, a, info, plan, selection);
        return solve_one_or_large<T>(stream, triangle, BatchView<const T>(a), b, info, selection);
    }
    with_width(plan, [&](auto width) {
        with_sides(b.shape().cols(), [&](auto sides) {
            const int padded = device::padded_order(n, width());
            launch_block_each(stream, panels_both_kernel<width(), sides(), T>, "panels_both_kernel", a.count(),
                              device::panel_threads(padded, width()),
                              device::PanelMemory<T, width()>::bytes(padded, sides(), device::Residence::shared),
                              triangle, a, b, info, output, selection);
        });
    });
}

}  // namespace

template <class T>
void run_on_gpu(BatchPotrf<T>, Stream stream, Triangle triangle, BatchView<T> a, Index* info, BatchPlan plan) {
    if (a.count() == 0) return;
    set_initial_info(stream, a, BatchShapes::square, info);
    device::for_each_class(a, BatchShapes::square, [&](const device::Selection& selection) {
        factor_class(stream, triangle, a, info, plan, selection);
    });
}

template <class T>
void run_on_gpu(BatchPotrs<T>, Stream stream, Triangle triangle, BatchView<const T> factors, BatchView<T> b) {
    if (b.count() == 0 || b.shape().empty()) return;
    device::for_each_class(factors, BatchShapes::square, [&](const device::Selection& selection) {
        solve_class<T>(stream, triangle, factors, b, selection);
    });
}

template <class T>
void run_on_gpu(BatchPosv<T>, Stream stream, Triangle triangle, BatchView<T> a, BatchView<T> b, Index* info,
                BatchFactor factor, BatchPlan plan) {
    if (a.count() == 0) return;
    const Index n = a.shape().rows();
    if (n > device::lanes && factor == BatchFactor::discard && !factor_fits<T>(stream, n, plan, 4)) {
        throw UsageError("batch_cholesky_factor_solve: matrices of order " + std::to_string(n) +
                         " do not fit into the GPU's shared memory; allowed is BatchFactor::keep");
    }
    set_initial_info(stream, a, BatchShapes::square, info);
    device::for_each_class(a, BatchShapes::square, [&](const device::Selection& selection) {
        factor_solve_class(stream, triangle, a, b, info, factor, plan, selection);
    });
}

}  // namespace basalt::on_stream
