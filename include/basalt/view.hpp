#pragma once

#include <cstdint>
#include <type_traits>

namespace basalt {

/// Row, column and element counts are signed 64-bit everywhere.
using Index = std::int64_t;

/// A non-owning, strided, two-dimensional window on elements of type T.
///
/// Element (i, j) lives at data()[i * row_stride() + j * col_stride()]; strides count elements.
/// Row-major storage has col_stride() == 1, column-major storage has row_stride() == 1. A plain array is a
/// view of one column. Copying a view copies the window, never the elements. A View<T> converts to
/// View<const T>. Not synchronised: the task that holds the access owns the elements.
template <class T>
class View {
  public:
    using value_type = std::remove_const_t<T>;

    constexpr View() = default;

    /// The `rows` x `cols` window with the given strides.
    constexpr View(T* data, Index rows, Index cols, Index row_stride, Index col_stride)
        : data_(data), rows_(rows), cols_(cols), row_stride_(row_stride), col_stride_(col_stride) {}

    /// A contiguous array of `size` elements: one column.
    constexpr View(T* data, Index size) : View(data, size, 1, 1, size) {}

    /// LAPACK's layout: element (i, j) at data[i + j * ld].
    static constexpr View column_major(T* data, Index rows, Index cols, Index ld) {
        return View(data, rows, cols, 1, ld);
    }

    /// C's layout: element (i, j) at data[i * ld + j].
    static constexpr View row_major(T* data, Index rows, Index cols, Index ld) { return View(data, rows, cols, ld, 1); }

    template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
    constexpr View(const View<U>& other)  // NOLINT(google-explicit-constructor): adding const is harmless
        : View(other.data(), other.rows(), other.cols(), other.row_stride(), other.col_stride()) {}

    constexpr T* data() const { return data_; }
    constexpr Index rows() const { return rows_; }
    constexpr Index cols() const { return cols_; }
    constexpr Index row_stride() const { return row_stride_; }
    constexpr Index col_stride() const { return col_stride_; }
    constexpr Index size() const { return rows_ * cols_; }
    constexpr bool empty() const { return rows_ <= 0 || cols_ <= 0; }

    constexpr T& operator()(Index i, Index j) const { return data_[i * row_stride_ + j * col_stride_]; }

    /// Element i of an array (a view of one column).
    constexpr T& operator[](Index i) const { return data_[i * row_stride_]; }

    /// The window of `rows` x `cols` elements whose first element is (row, col).
    constexpr View block(Index row, Index col, Index rows, Index cols) const {
        return View(data_ + row * row_stride_ + col * col_stride_, rows, cols, row_stride_, col_stride_);
    }

  private:
    T* data_ = nullptr;
    Index rows_ = 0;
    Index cols_ = 0;
    Index row_stride_ = 1;
    Index col_stride_ = 1;
};

}  // namespace basalt
