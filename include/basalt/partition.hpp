#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "basalt/access.hpp"
#include "basalt/datum_handle.hpp"

namespace basalt {

namespace detail {

/// How the elements of an array, or of a block of one, lie in the host's memory.
enum class ElementOrder : std::uint8_t {
    line,     ///< one-dimensional: one column
    columns,  ///< column-major, columns `ld` elements apart
};

/// Elements [row, row + rows) x [col, col + cols) of an array or of a block that has `all_rows` rows.
struct ElementWindow {
    ElementOrder order;
    Index ld;
    Index all_rows;
    Index row;
    Index col;
    Index rows;
    Index cols;
};

/// `home`: where the datum lies in the host's memory, if its strides are different elsewhere; otherwise nullptr.
template <class T>
Region<T> region_of(const DatumHandle& datum, const ElementWindow& w, const void* home) {
    if (w.order == ElementOrder::line) {
        return {datum.get(), datum.generation(), w.row, w.row + w.rows, 0, 1, w.row, w.rows, 1, 1, w.all_rows};
    }
    return {datum.get(),
            datum.generation(),
            w.col,
            w.col + w.cols,
            static_cast<std::int32_t>(w.row),
            static_cast<std::int32_t>(w.row + w.rows),
            w.row + w.col * w.ld,
            w.rows,
            w.cols,
            1,
            w.ld,
            home,
            w.all_rows};
}

/// Throws UsageError where an array or block of `rows` x `cols` elements has no such window.
void check_window(const char* function, const ElementWindow& window, Index rows, Index cols);
/// Cuts that make `blocks` nearly equal intervals of [0, size): the first ones are longer by one where they cannot be
/// equal. Throws UsageError, which calls the intervals `what`, unless 1 <= blocks <= size.
std::vector<Index> equal_cuts(const char* function, const char* what, Index blocks, Index size);
/// The same from cuts that the user chose: where intervals begin, but for the first one. Throws UsageError unless they
/// ascend and lie between 0 and `size`.
std::vector<Index> checked_cuts(const char* function, const char* what, std::vector<Index> cuts, Index size);
/// wait_datum() and wait_datum_to_overwrite() for a block. Throw UsageError where its array is gone.
void* wait_block(const DatumHandle& block);
void* wait_block_to_overwrite(const DatumHandle& block);
[[noreturn]] void throw_no_such_block(Index row, Index col, Index block_rows, Index block_cols);

}  // namespace detail

/// A block of an array: a part of it that has users, copies on GPUs and errors of its own. Tasks access it as they do
/// an array. See Partition.
///
/// On cores, kernels get a view of the array's own memory. On GPUs the block's columns follow each other: the view's
/// col_stride() says the leading dimension.
///
/// Movable, not copyable. It may outlive its array and its runtime; host_view(), host_overwrite() and the submission of
/// a task that accesses it throw UsageError then.
template <class T>
class Block {
  public:
    Index rows() const { return rows_; }
    Index cols() const { return cols_; }
    /// Where the block's first element is in the array.
    Index row() const { return row_; }
    Index col() const { return col_; }
    Index size() const { return rows_ * cols_; }

    /// All of the block.
    Region<T> region() const { return part(0, 0, rows_, cols_); }
    /// The window of `rows` x `cols` elements whose first one is (row, col), counted from the block's first element.
    /// Tasks on parts that do not overlap are independent. Copies between memories move the whole block. Throws
    /// UsageError.
    Region<T> part(Index row, Index col, Index rows, Index cols) const {
        const detail::ElementWindow window{order_, ld_, rows_, row, col, rows, cols};
        detail::check_window("Block::part", window, rows_, cols_);
        const bool strided = order_ == detail::ElementOrder::columns && ld_ != rows_;
        return detail::region_of<T>(handle_, window, strided ? home_ : nullptr);
    }

    /// As Array::host_view() and Array::host_overwrite(), for the block alone: they wait for its tasks only, and the
    /// elements stay where they are in the array.
    View<T> host_view() const { return view(detail::wait_block(handle_)); }
    View<T> host_overwrite() const { return view(detail::wait_block_to_overwrite(handle_)); }

  private:
    template <class U>
    friend class Partition;

    Block(detail::DatumHandle handle, detail::ElementOrder order, T* home, Index ld, Index row, Index col, Index rows,
          Index cols)
        : handle_(std::move(handle)),
          order_(order),
          home_(home),
          ld_(ld),
          row_(row),
          col_(col),
          rows_(rows),
          cols_(cols) {}

    View<T> view(void* memory) const {
        return View<T>(static_cast<T*>(memory), rows_, cols_, 1, order_ == detail::ElementOrder::line ? rows_ : ld_);
    }

    detail::DatumHandle handle_;
    detail::ElementOrder order_;
    const void* home_;
    Index ld_;
    Index row_;
    Index col_;
    Index rows_;
    Index cols_;
};

/// The blocks into which Array::split() or Array2D::split() cuts an array: each element is in one of them. It is a
/// range of blocks, so read(partition) and the like access all of them.
///
/// Tasks on different blocks are independent and may run on different GPUs and on cores at the same time. Blocks move
/// one by one.
///
/// An array may have several partitions, and may be used as a whole meanwhile: a task waits for the earlier users of
/// the blocks that its data overlap, and finds what they wrote. Contents pass from one partition to another by way of
/// the host's memory, without wait(). So use one partition for many tasks, then another one. One task must not access
/// data that overlap, such as a block and the whole array: submit() throws UsageError.
///
/// Movable, not copyable. The end of a partition does not wait; its blocks must not be used afterwards. A partition
/// that outlives its array is of no more use. Thread-safe as Array is.
template <class T>
class Partition {
  public:
    Partition() = default;

    /// Blocks below each other, and side by side.
    Index block_rows() const { return block_rows_; }
    Index block_cols() const { return block_rows_ == 0 ? 0 : std::ssize(blocks_) / block_rows_; }
    Index size() const { return std::ssize(blocks_); }

    /// Block (i, j). Throws UsageError where there is none.
    const Block<T>& operator()(Index i, Index j) const {
        if (i < 0 || i >= block_rows() || j < 0 || j >= block_cols()) {
            detail::throw_no_such_block(i, j, block_rows(), block_cols());
        }
        return blocks_[static_cast<std::size_t>(i + j * block_rows_)];
    }
    /// Block k, counted downwards, one column of blocks after the other.
    const Block<T>& operator[](Index k) const {
        if (k < 0 || k >= size()) detail::throw_no_such_block(k, 0, size(), 1);
        return blocks_[static_cast<std::size_t>(k)];
    }
    auto begin() const { return blocks_.begin(); }
    auto end() const { return blocks_.end(); }

  private:
    template <class U>
    friend class Array;
    template <class U>
    friend class Array2D;

    Partition(const detail::DatumHandle& whole, detail::ElementOrder order, Index ld,
              const std::vector<Index>& row_cuts, const std::vector<Index>& col_cuts)
        : block_rows_(std::ssize(row_cuts) - 1) {
        // a datum keeps its columns as its rows
        const bool by_columns = order == detail::ElementOrder::columns;
        detail::BlockHandles split = by_columns ? detail::split_datum(whole, col_cuts, row_cuts)
                                                : detail::split_datum(whole, row_cuts, col_cuts);
        blocks_.reserve(split.blocks.size());
        auto handle = split.blocks.begin();
        for (std::size_t j = 0; j + 1 < col_cuts.size(); ++j) {
            for (std::size_t i = 0; i + 1 < row_cuts.size(); ++i, ++handle) {
                T* const home = static_cast<T*>(split.base) + row_cuts[i] + col_cuts[j] * ld;
                blocks_.push_back(Block<T>(std::move(*handle), order, home, ld, row_cuts[i], col_cuts[j],
                                           row_cuts[i + 1] - row_cuts[i], col_cuts[j + 1] - col_cuts[j]));
            }
        }
    }

    Index block_rows_ = 0;
    std::vector<Block<T>> blocks_;
};

}  // namespace basalt
