#pragma once

#include <type_traits>

#include "kernels/cuda/batch/candidate_arguments.hpp"
#include "kernels/cuda/batch/cholesky_lanes.hpp"
#include "kernels/cuda/batch/cholesky_tiles.hpp"
#include "kernels/cuda/batch/lu_tiles.hpp"
#include "kernels/cuda/batch/panels.hpp"
#include "kernels/cuda/batch/qr_block.hpp"
#include "kernels/cuda/batch/solve_tiles.hpp"
#include "kernels/cuda/common/warp_thread.cuh"

/// The bodies of the kernels that the tuner compiles, one for each routine and Residence. The grid of the kernels in
/// lanes has a block for as many matrices as its threads hold, that of the others a block for each matrix.
namespace basalt::cuda_detail::batch {

/// The matrix of a thread, and what goes with it.
template <class T>
struct CandidatePlace {
    Index number;
    bool there;

    __device__ CandidatePlace(const CandidateArguments& c, Index own) : number(own), there(own < c.count) {}

    __device__ Whole<T> matrix(const CandidateArguments& c) const {
        if (!there) return {nullptr, 1, 0, 0};
        return {static_cast<T*>(c.a) + number * c.rows * c.cols, c.rows, c.rows, c.cols};
    }
    /// The lower triangle of the matrix.
    __device__ Operand<T> triangle(const CandidateArguments& c) const {
        if (!there) return {nullptr, 0, 0, 0};
        return {static_cast<T*>(c.a) + number * c.rows * c.cols, 1, c.rows, c.rows};
    }
    __device__ RightSides<T> right(const CandidateArguments& c) const {
        return {there ? static_cast<T*>(c.b) + number * c.rows : nullptr, c.rows, 1};
    }
    __device__ Index* pivots(const CandidateArguments& c) const { return there ? c.pivots + number * c.rows : nullptr; }
    __device__ T* tau(const CandidateArguments& c) const {
        return there ? static_cast<T*>(c.tau) + number * c.cols : nullptr;
    }
    __device__ void report(const CandidateArguments& c, bool first, int info) const {
        if (there && first) c.info[number] = info;
    }
};

template <class T>
__device__ Operand<const T> read_only(const Operand<T>& a) {
    return {a.a, a.down, a.across, a.n};
}
template <class T>
__device__ Whole<const T> read_only(const Whole<T>& a) {
    return {a.a, a.ld, a.rows, a.cols};
}

template <class Shape, int threads>
struct LanesPlace {
    static constexpr int groups = threads / Shape::own_lanes;
    WarpThread thread;
    int group;
    bool first;

    __device__ LanesPlace() : group(thread.number / Shape::own_lanes), first(thread.number % Shape::own_lanes == 0) {}
    __device__ Index number() const { return static_cast<Index>(blockIdx.x) * groups + group; }
};

template <BatchJob job, int most, int threads, class T>
__device__ void cholesky_in_lanes(const CandidateArguments& c) {
    constexpr int own_lanes = job == BatchJob::solve ? lanes_to_solve<T>(most) : lanes_to_factor(most);
    using Shape = TriangleShape<T, most, own_lanes>;
    const LanesPlace<Shape, threads> lanes_of;
    const CandidatePlace<T> own(c, lanes_of.number());
    if constexpr (job == BatchJob::factor) {
        __shared__ TriangleColumns<T, Shape> memory[lanes_of.groups];
        own.report(c, lanes_of.first, factor_in_lanes<Shape>(lanes_of.thread, memory[lanes_of.group], own.triangle(c)));
    } else if constexpr (job == BatchJob::solve) {
        __shared__ TriangleRows<T, Shape> memory[lanes_of.groups];
        solve_in_lanes<Shape>(lanes_of.thread, memory[lanes_of.group], read_only(own.triangle(c)), own.right(c).b);
    } else {
        __shared__ TriangleBoth<T, Shape> memory[lanes_of.groups];
        own.report(c, lanes_of.first,
                   factor_solve_in_lanes<Shape>(lanes_of.thread, memory[lanes_of.group], own.triangle(c),
                                                FactorOutput::keep, own.right(c).b));
    }
}

/// T is double.
template <Registers registers, class T>
__device__ void cholesky_by_tiles(const CandidateArguments& c) {
    extern __shared__ __align__(16) unsigned char raw[];
    const WarpThread thread;
    const CandidatePlace<T> own(c, blockIdx.x);
    const CholeskyTileMemory memory{reinterpret_cast<T*>(raw)};
    const CountedOperand matrix(own.triangle(c));
    own.report(c, thread.number == 0, cholesky_factor_tiles<registers>(thread, memory, matrix));
}

template <BatchJob job, Residence residence, int width, class T>
__device__ void cholesky_in_block(const CandidateArguments& c) {
    extern __shared__ __align__(16) unsigned char raw[];
    const WarpThread thread;
    const CandidatePlace<T> own(c, blockIdx.x);
    if constexpr (residence == Residence::tiles) {
        static_assert(job == BatchJob::solve, "cholesky_by_tiles() factors");
        cholesky_solve_tiles(thread, SolveTilesMemory<T>(raw), read_only(own.triangle(c)), own.right(c), {0, 1});
    } else {
        const PanelMemory<T, width> memory(raw, padded_order(c.rows, width), job == BatchJob::factor ? 0 : 1);
        if constexpr (job == BatchJob::factor) {
            own.report(c, thread.number == 0,
                       factor_panels<residence>(thread, memory, own.triangle(c), FactorOutput::keep));
        } else if constexpr (job == BatchJob::solve) {
            load_solve_panels<residence, width, 1>(thread, memory, read_only(own.triangle(c)), own.right(c));
        } else {
            static_assert(residence == Residence::shared, "the factor of the fused call lies in shared memory");
            own.report(
                c, thread.number == 0,
                factor_solve_panels<width, 1>(thread, memory, own.triangle(c), FactorOutput::keep, own.right(c)));
        }
    }
}

template <BatchJob job, int most, int threads, class T>
__device__ void lu_in_lanes(const CandidateArguments& c) {
    using Shape = SmallShape<T, most>;
    using Memory = std::conditional_t<job == BatchJob::solve, SmallSides<T>, SmallRows<T, Shape>>;
    __shared__ Memory memory[LanesPlace<Shape, threads>::groups];
    const LanesPlace<Shape, threads> lanes_of;
    const CandidatePlace<T> own(c, lanes_of.number());
    Memory& rows = memory[lanes_of.group];
    if constexpr (job == BatchJob::factor) {
        own.report(c, lanes_of.first,
                   lu_factor_small<Shape, Pivoting::partial>(lanes_of.thread, rows, own.matrix(c), own.pivots(c)));
    } else if constexpr (job == BatchJob::solve) {
        lu_solve_small<Shape, 1>(lanes_of.thread, rows, read_only(own.matrix(c)), own.pivots(c), own.right(c));
    } else {
        own.report(c, lanes_of.first,
                   lu_factor_solve_small<Shape>(lanes_of.thread, rows, own.matrix(c), own.pivots(c), own.right(c).b));
    }
}

template <BatchJob job, Residence residence, int width, class T>
__device__ void lu_in_block(const CandidateArguments& c) {
    extern __shared__ __align__(16) unsigned char raw[];
    const WarpThread thread;
    const CandidatePlace<T> own(c, blockIdx.x);
    if constexpr (residence == Residence::tiles && job == BatchJob::solve) {
        lu_solve_tiles(thread, SolveTilesMemory<T>(raw), read_only(own.matrix(c)), own.pivots(c), own.right(c), {0, 1});
    } else if constexpr (residence == Residence::tiles) {
        const Whole<T> a = own.matrix(c);
        const int info =
            lu_factor_tiles(thread, LuTileMemory<T>(raw, c.rows), LuTileMatrix<T>{a.a, a.rows, a.rows}, own.pivots(c));
        own.report(c, thread.number == 0, info);
    } else if constexpr (job == BatchJob::factor) {
        const LuBlockMemory<T, width> memory(raw, c.rows, residence);
        own.report(c, thread.number == 0, lu_factor_block<residence>(thread, memory, own.matrix(c), own.pivots(c)));
    } else {
        static_assert(job == BatchJob::solve, "factor and solve of larger orders are two kernels");
        const LuSolveMemory<T, 1> memory(raw, c.rows);
        lu_solve_block(thread, memory, read_only(own.matrix(c)), own.pivots(c), own.right(c));
    }
}

template <BatchJob job, int most, int threads, class T>
__device__ void qr_in_lanes(const CandidateArguments& c) {
    static_assert(job != BatchJob::solve, "Q^T B is no kernel of its own");
    using Shape = SmallShape<T, most>;
    __shared__ SmallVectors<T, Shape> memory[LanesPlace<Shape, threads>::groups];
    const LanesPlace<Shape, threads> lanes_of;
    const CandidatePlace<T> own(c, lanes_of.number());
    // the number of right-hand sides is the same in all lanes of a warp
    const RightSides<T> right = own.right(c);
    const int info =
        qr_factor_small<Shape>(lanes_of.thread, memory[lanes_of.group], own.matrix(c), own.tau(c),
                               RightSides<T>{right.b, right.ld, job == BatchJob::factor ? Index{0} : Index{1}});
    if (job == BatchJob::factor_solve) own.report(c, lanes_of.first, info);
}

template <BatchJob job, int width, int parts, class T>
__device__ void qr_in_block(const CandidateArguments& c) {
    extern __shared__ __align__(16) unsigned char raw[];
    const WarpThread thread;
    const CandidatePlace<T> own(c, blockIdx.x);
    const QrBlockMemory<T, width> memory(raw, c.rows);
    T* const x = memory.tau + width;  // behind the memory of the factorization
    const RightSides<T> right = own.right(c);
    const int info =
        qr_factor_block<width, parts>(thread, memory, x, own.matrix(c), own.tau(c),
                                      RightSides<T>{right.b, right.ld, job == BatchJob::factor ? Index{0} : Index{1}});
    if (job == BatchJob::factor_solve) own.report(c, thread.number == 0, info);
}

}  // namespace basalt::cuda_detail::batch
