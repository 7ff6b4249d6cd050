// Between a column-major array on the host and tile columns, converted by GPUs.
#include "tasks/on_gpus/host_columns.hpp"

#include <algorithm>
#include <limits>

#include "kernels/on_stream.hpp"
#include "runtime/engine/gpu_data.hpp"
#include "runtime/engine/gpu_memory.hpp"
#include "runtime/engine/host_copies.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "runtime/memory/host_pool.hpp"
#include "tasks/on_gpus/priorities.hpp"
#include "tiles/copy.hpp"

namespace basalt::detail {

namespace {

template <class T>
std::size_t bytes_of(const View<T>& array) {
    return array.empty() ? 0
                         : sizeof(T) * static_cast<std::size_t>((array.cols() - 1) * array.col_stride() + array.rows());
}

/// Rows [row, row + rows) of columns [col, col + cols) of tile column `tile_column`.
struct TilePart {
    Index tile_column;
    Index row, rows;
    Index col, cols;
};

template <class T>
class HostColumns {
  public:
    HostColumns(MatrixStorage& storage, StripePath path, Index rows_of_a_block)
        : storage_(storage),
          grid_(storage.grid()),
          rt_(storage.runtime()),
          through_host_(path == StripePath::through_host),
          block_rows_(rows_of_a_block > 0 ? rows_of_a_block : balanced_rows()),
          block_cols_(std::clamp<Index>(stripe_elements() / block_rows_, 1, grid_.shape().width)),
          lock_(storage.stripes().begin(block_rows_ * block_cols_, path)) {}

    /// Whether all tile columns can be on the GPUs together.
    bool fits() const {
        const Index share = (grid_.tile_cols() + rt_.gpus() - 1) / rt_.gpus();
        const auto column = static_cast<std::size_t>(grid_.tile_column_size()) * sizeof(T);
        return static_cast<std::size_t>(share) * column + 4 * most_bytes() <= memory();
    }

    void load(View<const T> source) {
        // Columns that do not fit leave again in the order of their arrival; the factorization needs the first ones
        // first.
        const Index last = grid_.tile_cols() - 1;
        if (!fits()) {
            for (Index j = last; j >= 0; --j) {
                claim(j);
                load_tile_column(j, source);
            }
            return;
        }
        storage_.make_room_on_gpus(grid_.tile_cols());
        for (Index j = 0; j <= last; ++j) claim(j);
        for (Index j = 0; j <= last; ++j) load_tile_column(j, source);
    }

    void store(View<T> target) const {
        if (!fits()) {  // so each tile column comes to its GPU once
            for (Index j = 0; j < grid_.tile_cols(); ++j) {
                for_each_row_block([&](Index row, Index rows) { store_tile_column(j, row, rows, target); });
            }
            return;
        }
        // In the order in which a factorization makes them final, so that no block waits in a buffer for long: its
        // steps are done with rows from the top, and but for interchanges of rows with columns from the left.
        for_each_row_block([&](Index row, Index rows) {
            for (Index j = 0; j < grid_.tile_cols(); ++j) {
                const bool column_is_done = !storage_.rows_move() && grid_.first_col(j) < row + rows;
                if (!column_is_done) {
                    store_tile_column(j, row, rows, target);
                } else if (grid_.first_col(j) >= row) {
                    for_each_row_block([&](Index below, Index rows_below) {
                        if (below >= row) store_tile_column(j, below, rows_below, target);
                    });
                }
            }
        });
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
    Index stripe_elements() const { return std::max<Index>(1, static_cast<Index>(most_bytes() / sizeof(T))); }

    /// Whole tile widths, so that blocks end at the ends of a factorization's steps, and large enough to copy fast.
    Index balanced_rows() const {
        const Index width = grid_.shape().width;
        const Index wanted = std::max<Index>(1, stripe_elements() / 8 / width);
        return std::min((wanted + width - 1) / width * width, grid_.rows());
    }

    int gpu_of(Index tile_column) const { return storage_.deal().gpu_of(tile_column); }
    TaskOptions options(TaskName name, const TilePart& block, Place place) const {
        return {.name = name,
                .tile = {static_cast<int>(block.row / grid_.shape().height), static_cast<int>(block.tile_column)},
                .place = place};
    }
    template <class Element>
    View<Element> window(View<Element> array, const TilePart& block) const {
        return array.block(block.row, grid_.first_col(block.tile_column) + block.col, block.rows, block.cols);
    }
    template <class F>
    void for_each_row_block(const F& visit) const {
        for (Index row = 0; row < grid_.rows(); row += block_rows_)
            visit(row, std::min(block_rows_, grid_.rows() - row));
    }
    template <class F>
    void for_each_block(Index j, Index row, Index rows, const F& visit) const {
        for (Index col = 0; col < grid_.tile_width(j); col += block_cols_) {
            visit(TilePart{j, row, rows, col, std::min(block_cols_, grid_.tile_width(j) - col)});
        }
    }
    Region<T> buffer_for(const TilePart& block) const {
        return storage_.stripes().template next<T>(gpu_of(block.tile_column), block.rows, block.cols);
    }

    /// Declares all of the tile column to be written. Otherwise its old contents would be copied to the GPU. And tile
    /// columns that are all claimed before other data take memory lie at constant stride.
    void claim(Index j) const {
        const auto all = storage_.template region<T>(j, 0, grid_.padded_rows(), 0, grid_.shape().width);
        rt_.submit(options("claim", TilePart{j, 0, 0, 0, 0}, Place::gpu(gpu_of(j))), write(all),
                   on_any_device([](Stream, View<T>) {}));
    }

    void load_tile_column(Index j, View<const T> source) const {
        for_each_block(j, 0, grid_.rows(), [&](const TilePart& block) {
            const Region<T> buffer = buffer_for(block);
            copy_in(block, window(source, block), buffer);
            pack(block, buffer);
            storage_.stripes().done(buffer.datum);
        });
    }

    void store_tile_column(Index j, Index row, Index rows, View<T> target) const {
        for_each_block(j, row, rows, [&](const TilePart& block) {
            const Region<T> buffer = buffer_for(block);
            unpack(block, buffer);
            copy_out(block, buffer, window(target, block));
            storage_.stripes().done(buffer.datum);
        });
    }

    // --- on GPUs: on other streams than a factorization's updates, which are enqueued long before they run, and
    // urgent, or they would wait until an update has no blocks left to begin ---

    TaskOptions on_gpu(TaskName name, const TilePart& block) const {
        TaskOptions result = options(name, block, Place::gpu(gpu_of(block.tile_column)));
        result.priority = urgent;
        return result;
    }

    void pack(const TilePart& block, const Region<T>& buffer) const {
        const bool last = block.col + block.cols == grid_.tile_width(block.tile_column);
        const Index end = last ? grid_.shape().width : block.col + block.cols;  // the padding too
        const auto target = storage_.template region<T>(block.tile_column, 0, grid_.padded_rows(), block.col, end);
        rt_.submit(
            on_gpu("pack", block), read(buffer), write(target),
            on_any_device<KernelStreams::any>([grid = grid_, block](Stream stream, View<const T> from, View<T> to) {
                on_stream::pack_columns<T>(stream, grid, block.tile_column, block.col, from, to);
            }));
    }

    void unpack(const TilePart& block, const Region<T>& buffer) const {
        const auto source = storage_.template region<T>(block.tile_column, block.row, block.row + block.rows, block.col,
                                                        block.col + block.cols);
        rt_.submit(on_gpu("unpack", block), read(source), write(buffer),
                   on_any_device<KernelStreams::any>([](Stream stream, View<const T> from, View<T> to) {
                       on_stream::unpack_window<T>(stream, from, to);
                   }));
    }

    // --- between the user's array and the buffers ---

    static HostWindow host_window(View<const T> array) {
        return {const_cast<T*>(array.data()), sizeof(T) * static_cast<std::size_t>(array.rows()),
                static_cast<std::size_t>(array.cols()), sizeof(T) * static_cast<std::size_t>(array.col_stride())};
    }
    TaskOptions on_cores(TaskName name, const TilePart& block) const {
        TaskOptions result = options(name, block, Place::cpu());
        result.threads = {1, std::min(rt_.workers(), rt_.tuning().cpu.copying_threads)};
        return result;
    }
    static void copy_share(const Team& team, View<const T> from, View<T> to) {
        const Index begin = from.cols() * team.rank() / team.size();
        const Index end = from.cols() * (team.rank() + 1) / team.size();
        copy_elements<T>(from.block(0, begin, from.rows(), end - begin), to.block(0, begin, from.rows(), end - begin));
    }

    void copy_in(const TilePart& block, View<const T> from, const Region<T>& buffer) const {
        if (through_host_) {
            rt_.submit(on_cores("copy in", block), write(buffer),
                       [from](const Team& team, View<T> to) { copy_share(team, from, to); });
            return;
        }
        const int gpu = gpu_of(block.tile_column);
        host_copies(rt_).submit_host_copy(options("copy in", block, Place::gpu(gpu)), write(buffer).record, gpu,
                                          host_window(from));
    }

    void copy_out(const TilePart& block, const Region<T>& buffer, View<T> to) const {
        if (through_host_) {
            rt_.submit(on_cores("copy out", block), read(buffer),
                       [to](const Team& team, View<const T> from) { copy_share(team, from, to); });
            return;
        }
        const int gpu = gpu_of(block.tile_column);
        host_copies(rt_).submit_host_copy(options("copy out", block, Place::gpu(gpu)), read(buffer).record, gpu,
                                          host_window(to));
    }

    MatrixStorage& storage_;
    const TileGrid grid_;
    Runtime& rt_;
    const bool through_host_;
    const Index block_rows_, block_cols_;
    const std::unique_lock<std::mutex> lock_;
};

template <class T>
StripePath path_for(const MatrixStorage& storage, const View<T>& array) {
    const bool pinned = pinned_memory(storage.runtime()).is_pinned(array.data(), bytes_of(array));
    return pinned ? StripePath::on_gpus : StripePath::through_host;
}

}  // namespace

template <class T>
bool gpus_can_convert(const MatrixStorage& storage, View<const T> array) {
    const bool column_major = (array.rows() <= 1 || array.row_stride() == 1) && array.col_stride() >= array.rows();
    return gpu_data(storage.runtime()).gpus_to_deal_to() > 0 && column_major && !array.empty();
}

template <class T>
void load_by_gpus(MatrixStorage& storage, View<const T> source) {
    HostColumns<T>(storage, path_for(storage, source), storage.grid().rows()).load(source);
}

template <class T>
void store_by_gpus(MatrixStorage& storage, View<T> target) {
    HostColumns<T>(storage, path_for(storage, target), 0).store(target);
}

template bool gpus_can_convert(const MatrixStorage&, View<const float>);
template bool gpus_can_convert(const MatrixStorage&, View<const double>);
template void load_by_gpus(MatrixStorage&, View<const float>);
template void load_by_gpus(MatrixStorage&, View<const double>);
template void store_by_gpus(MatrixStorage&, View<float>);
template void store_by_gpus(MatrixStorage&, View<double>);

}  // namespace basalt::detail
