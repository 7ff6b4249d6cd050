#include "kernels/cuda/panel/fused.hpp"

#include <cassert>
#include <utility>

#include <cuda/atomic>

#include "kernels/cuda/panel/log.cuh"
#include "kernels/cuda/panel/pivot.cuh"
#include "kernels/cuda/panel/recursion.cuh"
#include "kernels/cuda/panel/steps.hpp"

namespace basalt::cuda_detail {

namespace {

constexpr int threads = 512;

/// What the block of a column tells the others: nothing yet is 0.
struct ColumnFlags {
    int pivot;  // its row in the leaf, plus 1
    int parts;  // of the multipliers, that are written
};

/// Elements that a thread may hold: the kernels there are. The tallest take 96 of the 128 registers a thread has then.
template <class T>
struct Segments;
template <>
struct Segments<double> {
    using Counts = std::integer_sequence<int, 4, 8, 16, 32, 48>;
    static constexpr int most = 48;
};
template <>
struct Segments<float> {
    using Counts = std::integer_sequence<int, 4, 8, 16, 32, 64, 96>;
    static constexpr int most = 96;
};

using DeviceFlag = cuda::atomic_ref<int, cuda::thread_scope_device>;

/// The block of a column: row s * threads + t of the leaf is element s of thread t. Rows below the last one are NaN,
/// and stay it: such an element never becomes the pivot, so that no sweep has to ask where the column ends.
template <class T, int segments, int part>
class FusedColumn {
  public:
    __device__ FusedColumn(View<T> leaf, Index first) : leaf_(leaf), first_(first) {
#pragma unroll
        for (int s = 0; s < segments; ++s) element_[s] = row(s) < leaf.rows() ? leaf(row(s), own()) : T(NAN);
    }

    __device__ void store() const {
        // as if unknown, or the addresses of all elements would stay in registers since they were loaded
        int thread = row(0);
        asm volatile("" : "+r"(thread));
#pragma unroll
        for (int s = 0; s < segments; ++s) {
            const int at = s * threads + thread;
            if (at < leaf_.rows()) leaf_(at, own()) = element_[s];
        }
    }

    /// This block's column is j: finds its pivot and tells the others.
    __device__ int announce_pivot(int j, ColumnFlags& flags, Index* pivots, Index* info) const {
        T largest = row(0) < j ? T{-1} : Candidate<T>::of(element_[0], row(0), j).magnitude;
        int segment = 0;
#pragma unroll
        for (int s = 1; s < segments; ++s) {
            if (!(fabs(element_[s]) > largest)) continue;
            largest = fabs(element_[s]);
            segment = s;
        }
        const auto best = best_of_block<threads>(Candidate<T>{largest, row(segment)});
        if (threadIdx.x == 0) {
            // relaxed: it is all there is to tell
            DeviceFlag(flags.pivot).store(static_cast<int>(best.row) + 1, cuda::memory_order_relaxed);
            pivots[first_ + j] = first_ + best.row;
            // of blocks that find a zero the first in order comes first: the others wait for its multipliers
            if (best.magnitude == T{0}) atomicCAS(reinterpret_cast<unsigned long long*>(info), 0ULL, first_ + j + 1);
        }
        return static_cast<int>(best.row);
    }

    static __device__ int await_pivot(ColumnFlags& flags) {
        __shared__ int announced;
        if (threadIdx.x == 0) {
            const DeviceFlag flag(flags.pivot);
            int found = 0;
            while (found == 0) found = flag.load(cuda::memory_order_relaxed);
            announced = found - 1;
        }
        __syncthreads();
        return announced;  // written again only after the interchange has synchronised
    }

    /// Exchanges rows j and `pivot`; returns the element that row j then holds. Row j is element 0 of thread j.
    __device__ T interchange(int j, int pivot) {
        __shared__ T at_pivot, at_diagonal;
        const int thread = static_cast<int>(threadIdx.x), segment = pivot / threads;
        if (thread == pivot % threads) {
#pragma unroll
            for (int s = 0; s < segments; ++s) {
                if (s == segment) at_pivot = element_[s];
            }
        }
        if (thread == j) at_diagonal = element_[0];
        __syncthreads();
        const T moved = at_pivot;
        if (thread == pivot % threads) {
#pragma unroll
            for (int s = 0; s < segments; ++s) {
                if (s == segment) element_[s] = at_diagonal;
            }
        }
        if (thread == j) element_[0] = moved;
        return moved;  // all threads pass another barrier before either is written again
    }

    /// This block's column is j, its pivot on the diagonal: turns it into multipliers and writes them for the others.
    __device__ void scale(int j, T pivot, T* multipliers, ColumnFlags& flags) {
        const Scaling<T> scaled(pivot);
        multipliers += threadIdx.x;
#pragma unroll
        for (int s = 0; s < segments; ++s) {
            if (s > 0 || row(0) > j) element_[s] = scaled(element_[s]);
            multipliers[s * threads] = element_[s];
            if ((s + 1) % part != 0 && s + 1 != segments) continue;
            __syncthreads();
            // release, at the scope of the GPU: after what all threads have written before the barrier
            if (threadIdx.x == 0) DeviceFlag(flags.parts).store(s / part + 1, cuda::memory_order_release);
        }
    }

    /// Subtracts the multipliers of column j times u, this column's element in row j, as they come.
    __device__ void update(int j, T u, const T* multipliers, ColumnFlags& flags) {
        multipliers += threadIdx.x;
#pragma unroll
        for (int begin = 0; begin < segments; begin += part) {
            if (threadIdx.x == 0) {
                const DeviceFlag flag(flags.parts);
                // acquire: before what any thread reads after the barrier
                while (flag.load(cuda::memory_order_acquire) <= begin / part) continue;
            }
            __syncthreads();
#pragma unroll
            for (int s = begin; s < begin + part && s < segments; ++s) {
                const T multiplier = __ldcg(multipliers + s * threads);
                if (s > 0 || row(0) > j) element_[s] -= multiplier * u;
            }
        }
    }

  private:
    static __device__ int own() { return static_cast<int>(blockIdx.x); }
    static __device__ int row(int s) { return s * threads + static_cast<int>(threadIdx.x); }

    const View<T> leaf_;
    const Index first_;
    T element_[segments];
};

/// A block a column. All of them run at once, or they would wait for each other forever. `multipliers`: segments *
/// threads elements a column; `flags`: one a column, zero.
template <bool logs, int segments, int part, class T>
__global__ void __launch_bounds__(threads, 1) fused_kernel(View<T> leaf, Index first, Index* pivots, Index* info,
                                                           T* multipliers, ColumnFlags* flags, PanelLog log) {
    const int own = static_cast<int>(blockIdx.x), cols = static_cast<int>(gridDim.x);
    const auto enter = [](PanelState state) {
        if constexpr (logs) block_log().enter(state);
    };
    if constexpr (logs) block_log().open(log, own);
    enter(PanelState::load);
    FusedColumn<T, segments, part> column(leaf, first);
    for (int j = 0; j < cols; ++j) {
        enter(j == own ? PanelState::search : PanelState::meet);
        const int pivot = j == own ? column.announce_pivot(j, flags[j], pivots, info) : column.await_pivot(flags[j]);
        enter(PanelState::move);
        const T u = column.interchange(j, pivot);
        T* const of_j = multipliers + static_cast<Index>(j) * segments * threads;
        if (j == own) {
            enter(PanelState::scale);
            column.scale(j, u, of_j, flags[j]);
        }
        if (j < own) {
            enter(PanelState::update);
            column.update(j, u, of_j, flags[j]);
        }
    }
    enter(PanelState::store);
    column.store();
    if constexpr (logs) block_log().close();
}

template <class T>
using FusedKernel = void (*)(View<T>, Index, Index*, Index*, T*, ColumnFlags*, PanelLog);

/// The kernel for `rows` rows, and the elements that its threads hold; `update` chooses how they update.
template <class T>
struct FusedChoice {
    FusedKernel<T> kernel = nullptr;
    int segments = 0;

    FusedChoice(Index rows, FusedUpdate update, bool logs) {
        choose<false>(rows, update, typename Segments<T>::Counts());
        if constexpr (sizeof(T) == sizeof(double)) {
            if (logs) choose<true>(rows, update, typename Segments<T>::Counts());
        }
    }

  private:
    template <bool logs, int... counts>
    void choose(Index rows, FusedUpdate update, std::integer_sequence<int, counts...>) {
        static_cast<void>((take<logs, counts>(rows, update) || ...));
    }

    template <bool logs, int count>
    bool take(Index rows, FusedUpdate update) {
        if (rows > count * threads) return false;
        segments = count;
        kernel = update == FusedUpdate::lazy ? fused_kernel<logs, count, count, T>
                                             : fused_kernel<logs, count, greedy_part, T>;
        return true;
    }
};

template <class T>
struct FusedLeaf {
    Stream stream;
    View<T> panel;
    Index* pivots;
    Index* info;
    ColumnFlags* flags;  // one a column of the panel
    void* workspace;
    Index columns;
    Index tallest;
    FusedUpdate update;
    PanelLog log;

    Index width(Index rows) const { return rows <= tallest ? columns : steps_width; }

    void interchange_outside(Index first, Index cols) const {
        cuda_detail::interchange_outside<T>(stream, panel, first, cols, pivots);
    }

    void factor(Index first, Index cols) const {
        const View<T> leaf = panel.block(first, first, panel.rows() - first, cols);
        if (leaf.rows() > tallest) {
            return factor_leaf_by_steps<T>(stream, panel, first, cols, pivots, info, workspace);
        }
        cudaLaunchAttribute together{};
        together.id = cudaLaunchAttributeCooperative;
        together.val.cooperative = 1;
        cudaLaunchConfig_t shape{};
        shape.gridDim = static_cast<unsigned>(cols);
        shape.blockDim = threads;
        shape.stream = native(stream);
        shape.attrs = &together;
        shape.numAttrs = 1;
        const FusedChoice<T> choice(leaf.rows(), update, static_cast<bool>(log));
        check(cudaLaunchKernelEx(&shape, choice.kernel, leaf, first, pivots, info, static_cast<T*>(workspace),
                                 flags + first, log),
              "fused_kernel", stream);
    }
};

/// With what aligns the multipliers behind them.
std::size_t flag_bytes(Index cols) {
    return static_cast<std::size_t>(divide_up(cols * static_cast<Index>(sizeof(ColumnFlags)), 256) * 256);
}

/// Of the multipliers of the widest leaf.
template <class T>
std::size_t multiplier_bytes(Index rows, Index cols) {
    const FusedChoice<T> choice(std::min(rows, fused_height<T>()), FusedUpdate::lazy, false);
    return sizeof(T) * threads * static_cast<std::size_t>(choice.segments * std::min<Index>(cols, most_fused_width));
}

}  // namespace

template <class T>
Index fused_height() {
    return Segments<T>::most * threads;
}

template <class T>
int fused_width_limit(int device, Index rows) {
    const FusedChoice<T> choice(std::min(rows, fused_height<T>()), FusedUpdate::lazy, false);
    int cooperates = 0, processors = 0, blocks = 0;
    if (cudaDeviceGetAttribute(&cooperates, cudaDevAttrCooperativeLaunch, device) != cudaSuccess || cooperates == 0)
        return 0;
    if (cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) return 0;
    if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, choice.kernel, threads, 0) != cudaSuccess) return 0;
    return std::min(processors * blocks, most_fused_width);
}

std::size_t fused_workspace(Index rows, Index cols) {
    return flag_bytes(cols) +
           std::max({multiplier_bytes<float>(rows, cols), multiplier_bytes<double>(rows, cols), steps_workspace(rows)});
}

template <class T>
void factor_fused(Stream stream, View<T> panel, Index* pivots, Index* info, void* workspace, int width, Index tallest,
                  FusedUpdate update, PanelLog log) {
    if (panel.empty()) return;
    auto* const flags = static_cast<ColumnFlags*>(workspace);
    const std::size_t bytes = flag_bytes(panel.cols());
    check(cudaMemsetAsync(flags, 0, bytes, native(stream)), "cudaMemsetAsync", stream);
    void* const rest = static_cast<char*>(workspace) + bytes;
    const Index columns = width == 0 ? fused_width : width,
                height = tallest == 0 ? fused_height<T>() : std::min(tallest, fused_height<T>());
    const FusedLeaf<T> leaf{stream, panel, pivots, info, flags, rest, columns, height, update, log};
    factor_recursively<T>(stream, panel, leaf);
}

template Index fused_height<float>();
template Index fused_height<double>();
template int fused_width_limit<float>(int, Index);
template int fused_width_limit<double>(int, Index);
template void factor_fused<float>(Stream, View<float>, Index*, Index*, void*, int, Index, FusedUpdate, PanelLog);
template void factor_fused<double>(Stream, View<double>, Index*, Index*, void*, int, Index, FusedUpdate, PanelLog);

}  // namespace basalt::cuda_detail
