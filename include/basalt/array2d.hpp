#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "basalt/datum_handle.hpp"
#include "basalt/partition.hpp"
#include "basalt/runtime.hpp"

namespace basalt {

/// A two-dimensional array of `rows` x `cols` elements in column-major order that tasks may access: element (i, j) lies
/// `i + j * ld` elements behind the first one, as in LAPACK. (A row-major array is the transposed one: exchange rows
/// and columns.) It is for a program's own arrays, which stay as they are; the library's factorizations take a Matrix.
///
/// Everything that Array says holds here as well: ownership, the time of life, renaming, threads, T. An array may have
/// up to 2^28 rows.
///
/// On cores, kernels get views of the array in place, View::column_major with col_stride() == ld(). On GPUs the columns
/// follow each other, so col_stride() is rows() there.
template <class T>
class Array2D {
    static_assert(std::is_trivially_copyable_v<T>, "the runtime moves data as bytes");
    static_assert(alignof(T) <= 256, "elements may be aligned to 256 bytes at most, which is what GPUs' memory is");

  public:
    Array2D() = default;
    Array2D(Array2D&& other) noexcept { *this = std::move(other); }
    Array2D& operator=(Array2D&& other) noexcept {
        if (this == &other) return *this;
        handle_ = std::move(other.handle_);
        home_ = std::exchange(other.home_, nullptr);
        rows_ = std::exchange(other.rows_, 0);
        cols_ = std::exchange(other.cols_, 0);
        ld_ = std::exchange(other.ld_, 1);
        return *this;
    }
    ~Array2D() = default;

    /// rows, cols >= 0; zeros, owned by the runtime, ld() == max(1, rows). `name`, which is copied, appears in errors;
    /// nullptr: "array#number". Throws std::bad_alloc, UsageError.
    Array2D(Runtime& runtime, Index rows, Index cols, const char* name = nullptr)
        : Array2D(runtime, nullptr, rows, cols, rows > 0 ? rows : 1, detail::Storage::owned, name) {}

    /// Borrows the user's column-major memory, ld >= max(1, rows) elements from one column to the next, as
    /// Array::wrap() does. What lies between the columns is neither read nor written. Throws UsageError.
    static Array2D wrap(Runtime& runtime, T* data, Index rows, Index cols, Index ld, const char* name = nullptr) {
        return Array2D(runtime, data, rows, cols, ld, detail::Storage::borrowed, name);
    }

    Index rows() const { return rows_; }
    Index cols() const { return cols_; }
    Index ld() const { return ld_; }

    /// All of the array.
    Region<T> region() const { return part(0, 0, rows_, cols_); }
    /// The window of `rows` x `cols` elements whose first one is (row, col). Tasks on parts that do not overlap are
    /// independent, but copies between memories move the whole array: see split(). Throws UsageError.
    Region<T> part(Index row, Index col, Index rows, Index cols) const {
        const detail::ElementWindow window{detail::ElementOrder::columns, ld_, rows_, row, col, rows, cols};
        detail::check_window("Array2D::part", window, rows_, cols_);
        return detail::region_of<T>(handle_, window, home_);
    }

    /// Cuts the array into nearly equal blocks, `block_rows` below each other and `block_cols` side by side, that GPUs
    /// and cores use at the same time, see Partition. From then on tasks that overwrite the array wait for its users.
    /// Waits for nothing. Throws UsageError unless 1 <= block_rows <= rows() and 1 <= block_cols <= cols(), and inside
    /// a task that did not make the array.
    Partition<T> split(Index block_rows, Index block_cols) const {
        return {handle_, detail::ElementOrder::columns, ld_,
                detail::equal_cuts("Array2D::split", "block_rows", block_rows, rows_),
                detail::equal_cuts("Array2D::split", "block_cols", block_cols, cols_)};
    }
    /// The same with blocks that begin at row 0 and at each of `row_cuts`, and at column 0 and each of `col_cuts`. The
    /// cuts ascend: 0 < cut < rows() or cols().
    Partition<T> split_at(std::vector<Index> row_cuts, std::vector<Index> col_cuts) const {
        return {handle_, detail::ElementOrder::columns, ld_,
                detail::checked_cuts("Array2D::split_at", "row_cuts", std::move(row_cuts), rows_),
                detail::checked_cuts("Array2D::split_at", "col_cuts", std::move(col_cuts), cols_)};
    }

    /// As those of Array; element (i, j) is view(i, j).
    View<T> host_overwrite() const { return view(detail::wait_datum_to_overwrite(handle_)); }
    View<T> host_view() const { return view(detail::wait_datum(handle_)); }
    void release() { *this = Array2D(); }
    void release_when_unused() {
        if (handle_.get() != nullptr) detail::release_datum_when_unused(handle_);
        *this = Array2D();
    }

  private:
    Array2D(Runtime& runtime, T* data, Index rows, Index cols, Index ld, detail::Storage storage, const char* name)
        : handle_(detail::create_columns(runtime, data, sizeof(T), rows, cols, ld, storage,
                                         name != nullptr ? std::string(name) : detail::default_name("array"))),
          home_(ld != rows ? data : nullptr),
          rows_(rows),
          cols_(cols),
          ld_(ld) {}

    View<T> view(void* memory) const { return View<T>::column_major(static_cast<T*>(memory), rows_, cols_, ld_); }

    detail::DatumHandle handle_;
    const void* home_ = nullptr;  ///< of an array whose columns do not follow each other
    Index rows_ = 0;
    Index cols_ = 0;
    Index ld_ = 1;
};

/// Array2D<T>::wrap(), without naming T.
template <class T>
Array2D<T> wrap2d(Runtime& runtime, T* data, Index rows, Index cols, Index ld, const char* name = nullptr) {
    return Array2D<T>::wrap(runtime, data, rows, cols, ld, name);
}

}  // namespace basalt
