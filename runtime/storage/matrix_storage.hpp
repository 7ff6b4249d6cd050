#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/runtime.hpp"
#include "base/host_memory.hpp"
#include "runtime/storage/host_stripes.hpp"
#include "tiles/dealt_columns.hpp"
#include "tiles/grid.hpp"

namespace basalt::detail {

/// The memory of a tiled matrix: one slab, tile columns at a constant stride, each registered as a datum of
/// padded_rows x tile width elements.
class MatrixStorage {
  public:
    MatrixStorage(Runtime& runtime, const TileGrid& grid, std::size_t element_size, std::string name);
    ~MatrixStorage();
    MatrixStorage(const MatrixStorage&) = delete;
    MatrixStorage& operator=(const MatrixStorage&) = delete;

    /// Throws UsageError after the end of the runtime, and where it was left behind, see ProcessMark.
    Runtime& runtime() const {
        require_runtime();
        return *runtime_;
    }
    const TileGrid& grid() const { return grid_; }
    Datum* datum(Index j) const { return columns_[static_cast<std::size_t>(j)].get(); }
    /// A reading access to all of tile column j.
    AccessRecord whole_column(Index j) const {
        return read(region<std::byte>(j, 0, grid_.padded_rows(), 0, grid_.shape().width)).record;
    }
    void* column(Index j) const;
    std::size_t column_bytes() const { return static_cast<std::size_t>(grid_.tile_column_size()) * element_size_; }
    /// The distribution of tile columns over the GPUs, and the GPU of column j; Place::cpu() without GPUs.
    const ColumnDeal& deal() const { return deal_; }
    void set_deal(Deal deal) { deal_ = ColumnDeal(deal, deal_.gpus()); }
    Place place_of(Index j) const { return runtime().gpus() > 0 ? Place::gpu(deal_.gpu_of(j)) : Place::cpu(); }
    /// Pins the slab for copies to and from GPUs, unless it is pinned.
    void pin();
    /// The same where the host's memory holds some of the contents, once everything submitted so far has run.
    void pin_what_is_at_home();
    /// Reserves memory on the GPUs for the first `columns` tile columns, at constant stride, unless they have memory
    /// there.
    void make_room_on_gpus(Index columns) const;
    /// Memory of the user's on a GPU becomes tile column j's there. The next task on the column writes all of it.
    /// Throws UsageError inside a task.
    void adopt(Index j, int gpu, void* memory);
    /// The memory adopted so far, all of it on one GPU.
    struct Adopted {
        std::optional<int> gpu;
        std::size_t bytes = 0;
        bool aligned = true;  ///< to 16 bytes
    };
    const Adopted& adopted() const { return adopted_; }
    /// The user gets that memory back when all tasks submitted so far have run. The tile columns must not be used
    /// afterwards.
    void give_back() { given_back_.store(true, std::memory_order_relaxed); }
    /// Whether interchanges move rows of finished columns until the last step of a factorization: no column is final
    /// before. It tells in which order the matrix is best copied to the host, and nothing else.
    bool rows_move() const { return rows_move_.load(std::memory_order_relaxed); }
    void set_rows_move(bool move) { rows_move_.store(move, std::memory_order_relaxed); }
    /// Whether GPUs wrote all of it when it was loaded or filled last, from what they have, so that no tile column
    /// arrives later than the others. It tells in which order tasks are best submitted, and nothing else.
    bool begins_on_gpus() const { return begins_on_gpus_.load(std::memory_order_relaxed); }
    void set_begins_on_gpus(bool begins) { begins_on_gpus_.store(begins, std::memory_order_relaxed); }
    /// For copies between an array of the user's and the tile columns, through GPUs.
    HostStripes& stripes() { return stripes_; }
    /// Of a triangle, the squares on the diagonal: small ones, since a stripe travels as a whole.
    HostStripes& squares() { return squares_; }
    /// Waits for the tasks that use tile column j.
    void wait(Index j) const { wait_datum(columns_[static_cast<std::size_t>(j)]); }

    /// Rows [row_begin, row_end) and columns [col_begin, col_end) of tile column j, padding allowed.
    /// Throws UsageError where they do not exist.
    template <class T>
    Region<T> region(Index j, Index row_begin, Index row_end, Index col_begin, Index col_end) const {
        check(j, row_begin, row_end, col_begin, col_end);
        const Index width = grid_.shape().width;
        const DatumHandle& column = columns_[static_cast<std::size_t>(j)];
        return {column.get(),
                column.generation(),
                row_begin,
                row_end,
                static_cast<std::int32_t>(col_begin),
                static_cast<std::int32_t>(col_end),
                row_begin * width + col_begin,
                row_end - row_begin,
                col_end - col_begin,
                width,
                1};
    }

  private:
    void check(Index j, Index row_begin, Index row_end, Index col_begin, Index col_end) const;
    void end();
    void require_runtime() const;

    const ProcessMark mark_;
    Runtime* runtime_;  ///< nullptr after its end
    TileGrid grid_;
    ColumnDeal deal_;
    std::size_t element_size_;
    std::string name_;
    HostBuffer slab_;
    bool pinned_ = false;
    Adopted adopted_;
    std::atomic<bool> given_back_{false};
    std::atomic<bool> rows_move_{false};
    std::atomic<bool> begins_on_gpus_{false};
    std::vector<DatumHandle> columns_;  // declared after the slab: waited for and destroyed before it
    HostStripes stripes_, squares_;
};

}  // namespace basalt::detail
