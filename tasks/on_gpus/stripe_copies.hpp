#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <mutex>

#include "kernels/on_stream.hpp"
#include "runtime/engine/gpu_memory.hpp"
#include "runtime/engine/host_copies.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "runtime/memory/host_pool.hpp"
#include "runtime/storage/matrix_storage.hpp"
#include "tasks/on_gpus/converted_parts.hpp"
#include "tasks/on_gpus/priorities.hpp"
#include "tiles/copy.hpp"

namespace basalt::detail {

/// Rows [row, row + rows) of the matrix, in columns [col, col + cols) of tile column `tile_column`.
struct TilePart {
    Index tile_column;
    Index row, rows;
    Index col, cols;
};

/// Whether the memory between an array's first and last element is pinned.
template <class T>
bool is_pinned_array(const MatrixStorage& storage, const View<T>& array) {
    if (array.empty()) return false;
    const Index last = (array.rows() - 1) * array.row_stride() + (array.cols() - 1) * array.col_stride();
    return pinned_memory(storage.runtime()).is_pinned(array.data(), sizeof(T) * static_cast<std::size_t>(last + 1));
}

/// What copies between an array on the host and tile columns on GPUs have in common: parts of the array go through a
/// matrix's stripes. GPUs copy to and from pinned memory themselves; cores copy other memory to and from the stripes,
/// which are pinned then.
template <class T>
class StripeCopies {
  public:
    explicit StripeCopies(MatrixStorage& storage) : storage_(storage), grid_(storage.grid()), rt_(storage.runtime()) {}

    const TileGrid& grid() const { return grid_; }
    Runtime& runtime() const { return rt_; }
    int gpu_of(Index tile_column) const { return storage_.deal().gpu_of(tile_column); }

    /// Elements of a stripe, at most.
    Index stripe_elements() const { return std::max<Index>(1, static_cast<Index>(most_bytes() / sizeof(T))); }
    /// Stripes hold that many elements from now on.
    void begin(Index elements, StripePath path) { lock_ = storage_.stripes().begin(elements, path); }
    /// Whether all tile columns can be on the GPUs together.
    bool fits() const {
        const Index share = (grid_.tile_cols() + rt_.gpus() - 1) / rt_.gpus();
        const auto column = static_cast<std::size_t>(grid_.tile_column_size()) * sizeof(T);
        return static_cast<std::size_t>(share) * column + 4 * most_bytes() <= memory();
    }

    /// The next stripe on the part's GPU, as rows x cols elements, column-major and dense.
    Region<T> stripe_for(const TilePart& part, Index rows, Index cols) const {
        return storage_.stripes().template next<T>(gpu_of(part.tile_column), rows, cols);
    }
    /// All tasks that use the stripe's contents are submitted.
    void done(const Region<T>& stripe) const { storage_.stripes().done(stripe.datum); }

    void claim(Index j) const { claim_tile_column<T>(storage_, j, Place::gpu(gpu_of(j))); }

    /// A task that converts a part on its GPU: on other streams than a factorization's updates, which are enqueued long
    /// before they run, and urgent, or it would wait until an update has no blocks left to begin.
    TaskOptions on_gpu(TaskName name, const TilePart& part) const {
        TaskOptions result = options(name, part, Place::gpu(gpu_of(part.tile_column)));
        result.priority = urgent;
        return result;
    }
    /// A task that copies a part on a core, and of a gang that does so.
    TaskOptions on_core(TaskName name, const TilePart& part) const { return options(name, part, Place::cpu()); }
    TaskOptions on_cores(TaskName name, const TilePart& part) const {
        TaskOptions result = on_core(name, part);
        result.threads = {1, std::min(rt_.workers(), rt_.tuning().cpu.copying_threads)};
        return result;
    }

    /// Submits the copy of a part of the array, which has unit row stride, to its stripe and back.
    void copy_in(const TilePart& part, View<const T> from, const Region<T>& stripe, bool through_host) const {
        if (through_host) {
            rt_.submit(on_cores("copy in", part), write(stripe),
                       [from](const Team& team, View<T> to) { copy_share(team, from, to); });
            return;
        }
        const int gpu = gpu_of(part.tile_column);
        host_copies(rt_).submit_host_copy(options("copy in", part, Place::gpu(gpu)), write(stripe).record, gpu,
                                          host_window(from));
    }
    void copy_out(const TilePart& part, const Region<T>& stripe, View<T> to, bool through_host) const {
        if (through_host) {
            rt_.submit(on_cores("copy out", part), read(stripe),
                       [to](const Team& team, View<const T> from) { copy_share(team, from, to); });
            return;
        }
        const int gpu = gpu_of(part.tile_column);
        host_copies(rt_).submit_host_copy(options("copy out", part, Place::gpu(gpu)), read(stripe).record, gpu,
                                          host_window(to));
    }

  private:
    std::size_t memory() const {
        std::size_t least = std::numeric_limits<std::size_t>::max();
        for (int gpu = 0; gpu < rt_.gpus(); ++gpu) least = std::min(least, gpu_memory(rt_).capacity(gpu));
        return least;
    }
    std::size_t most_bytes() const {
        const GpuTuning::Links& links = rt_.tuning().gpu.links;
        return std::min(links.stripe_bytes, memory() / links.stripes_of_memory);
    }
    TaskOptions options(TaskName name, const TilePart& part, Place place) const {
        return {.name = name,
                .tile = {static_cast<int>(part.row / grid_.shape().height), static_cast<int>(part.tile_column)},
                .place = place};
    }
    static HostWindow host_window(View<const T> array) {
        return {const_cast<T*>(array.data()), sizeof(T) * static_cast<std::size_t>(array.rows()),
                static_cast<std::size_t>(array.cols()), sizeof(T) * static_cast<std::size_t>(array.col_stride())};
    }
    static void copy_share(const Team& team, View<const T> from, View<T> to) {
        const Index begin = from.cols() * team.rank() / team.size();
        const Index end = from.cols() * (team.rank() + 1) / team.size();
        copy_elements<T>(from.block(0, begin, from.rows(), end - begin), to.block(0, begin, from.rows(), end - begin));
    }

    MatrixStorage& storage_;
    const TileGrid grid_;
    Runtime& rt_;
    std::unique_lock<std::mutex> lock_;
};

}  // namespace basalt::detail
