// Between a column-major array on the host and tile columns, converted by GPUs.
#include "tasks/on_gpus/host_columns.hpp"

#include <algorithm>

#include "runtime/engine/gpu_data.hpp"
#include "tasks/on_gpus/stripe_copies.hpp"

namespace basalt::detail {

namespace {

template <class T>
class HostColumns {
  public:
    HostColumns(MatrixStorage& storage, bool pinned, Index rows_of_a_block)
        : storage_(storage),
          copies_(storage),
          grid_(copies_.grid()),
          through_host_(!pinned),
          block_rows_(rows_of_a_block > 0 ? rows_of_a_block : balanced_rows()),
          block_cols_(std::clamp<Index>(copies_.stripe_elements() / block_rows_, 1, grid_.shape().width)) {
        copies_.begin(block_rows_ * block_cols_, pinned ? StripePath::on_gpus : StripePath::through_host);
    }

    void load(View<const T> source) {
        // Columns that do not fit leave again in the order of their arrival; the factorization needs the first ones
        // first.
        const Index last = grid_.tile_cols() - 1;
        if (!copies_.fits()) {
            for (Index j = last; j >= 0; --j) {
                copies_.claim(j);
                load_tile_column(j, source);
            }
            return;
        }
        storage_.make_room_on_gpus(grid_.tile_cols());
        for (Index j = 0; j <= last; ++j) copies_.claim(j);
        for (Index j = 0; j <= last; ++j) load_tile_column(j, source);
    }

    void store(View<T> target) const {
        if (!copies_.fits()) {  // so each tile column comes to its GPU once
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
    /// Whole tile widths, so that blocks end at the ends of a factorization's steps, and large enough to copy fast.
    Index balanced_rows() const {
        const Index width = grid_.shape().width;
        const Index wanted = std::max<Index>(1, copies_.stripe_elements() / 8 / width);
        return std::min((wanted + width - 1) / width * width, grid_.rows());
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

    void load_tile_column(Index j, View<const T> source) const {
        for_each_block(j, 0, grid_.rows(), [&](const TilePart& block) {
            const Region<T> stripe = copies_.stripe_for(block, block.rows, block.cols);
            copies_.copy_in(block, window(source, block), stripe, through_host_);
            pack(block, stripe);
            copies_.done(stripe);
        });
    }

    void store_tile_column(Index j, Index row, Index rows, View<T> target) const {
        for_each_block(j, row, rows, [&](const TilePart& block) {
            const Region<T> stripe = copies_.stripe_for(block, block.rows, block.cols);
            unpack(block, stripe);
            copies_.copy_out(block, stripe, window(target, block), through_host_);
            copies_.done(stripe);
        });
    }

    void pack(const TilePart& block, const Region<T>& stripe) const {
        const bool last = block.col + block.cols == grid_.tile_width(block.tile_column);
        const Index end = last ? grid_.shape().width : block.col + block.cols;  // the padding too
        const auto target = storage_.template region<T>(block.tile_column, 0, grid_.padded_rows(), block.col, end);
        copies_.runtime().submit(
            copies_.on_gpu("pack", block), read(stripe), write(target),
            on_any_device<KernelStreams::any>([grid = grid_, block](Stream stream, View<const T> from, View<T> to) {
                on_stream::pack_columns<T>(stream, grid, block.tile_column, block.col, from, to);
            }));
    }

    void unpack(const TilePart& block, const Region<T>& stripe) const {
        const auto source = storage_.template region<T>(block.tile_column, block.row, block.row + block.rows, block.col,
                                                        block.col + block.cols);
        copies_.runtime().submit(copies_.on_gpu("unpack", block), read(source), write(stripe),
                                 on_any_device<KernelStreams::any>([](Stream stream, View<const T> from, View<T> to) {
                                     on_stream::unpack_window<T>(stream, from, to);
                                 }));
    }

    MatrixStorage& storage_;
    StripeCopies<T> copies_;
    const TileGrid grid_;
    const bool through_host_;
    const Index block_rows_, block_cols_;
};

}  // namespace

template <class T>
bool gpus_can_convert(const MatrixStorage& storage, View<const T> array) {
    const bool column_major = (array.rows() <= 1 || array.row_stride() == 1) && array.col_stride() >= array.rows();
    return gpu_data(storage.runtime()).gpus_to_deal_to() > 0 && column_major && !array.empty();
}

template <class T>
void load_by_gpus(MatrixStorage& storage, View<const T> source) {
    HostColumns<T>(storage, is_pinned_array(storage, source), storage.grid().rows()).load(source);
}

template <class T>
void store_by_gpus(MatrixStorage& storage, View<T> target) {
    HostColumns<T>(storage, is_pinned_array(storage, target), 0).store(target);
}

template bool gpus_can_convert(const MatrixStorage&, View<const float>);
template bool gpus_can_convert(const MatrixStorage&, View<const double>);
template void load_by_gpus(MatrixStorage&, View<const float>);
template void load_by_gpus(MatrixStorage&, View<const double>);
template void store_by_gpus(MatrixStorage&, View<float>);
template void store_by_gpus(MatrixStorage&, View<double>);

}  // namespace basalt::detail
