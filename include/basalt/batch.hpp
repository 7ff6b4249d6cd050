#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "basalt/access.hpp"
#include "basalt/datum_handle.hpp"
#include "basalt/runtime.hpp"
#include "basalt/view.hpp"

namespace basalt {

/// Many small column-major matrices: a non-owning description of one of three layouts. They lie in the host's memory,
/// except in calls with a Stream: there they and the list of pointers() or matrices() lie in a GPU's.
///
/// Element (i, j) of a matrix lies i + j * ld elements behind its first one. Matrices of one batch do not overlap. The
/// lists of pointers() and matrices() are not copied: they exist for as long as the description is in use. Copying
/// copies the description. A BatchView<T> converts to BatchView<const T>. Not synchronised.
template <class T>
class BatchView {
  public:
    using Element = std::remove_const_t<T>;

    BatchView() = default;

    /// `count` matrices of `rows` x `cols`, matrix k at data + k * stride.
    static BatchView strided(T* data, Index count, Index rows, Index cols, Index ld, Index stride) {
        BatchView batch(Layout::strided, count);
        batch.first_ = View<T>::column_major(data, rows, cols, ld);
        batch.stride_ = stride;
        return batch;
    }
    /// Matrices of `rows` x `cols` with one leading dimension, each at an address of its own.
    static BatchView pointers(std::span<T* const> matrices, Index rows, Index cols, Index ld) {
        BatchView batch(Layout::pointers, static_cast<Index>(matrices.size()));
        batch.first_ = View<T>::column_major(nullptr, rows, cols, ld);
        batch.pointers_ = matrices.data();
        return batch;
    }
    /// Matrices whose shapes and leading dimensions may differ.
    static BatchView matrices(std::span<const View<Element>> matrices) {
        BatchView batch(Layout::matrices, static_cast<Index>(matrices.size()));
        batch.first_ = View<T>::column_major(nullptr, 0, 0, 0);
        batch.matrices_ = matrices.data();
        return batch;
    }
    /// The same for calls with a Stream: the list lies in the GPU's memory, which the host does not read. No matrix has
    /// more than `most_rows` rows or `most_cols` columns. Calls without a Stream ignore these bounds.
    static BatchView matrices(std::span<const View<Element>> matrices, Index most_rows, Index most_cols) {
        BatchView batch = BatchView::matrices(matrices);
        batch.first_ = View<T>::column_major(nullptr, most_rows, most_cols, most_rows > 1 ? most_rows : 1);
        return batch;
    }

    template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
    BatchView(const BatchView<U>& other)  // NOLINT(google-explicit-constructor): adding const is harmless
        : layout_(static_cast<Layout>(other.layout_)),
          count_(other.count_),
          first_(other.first_),
          stride_(other.stride_),
          pointers_(other.pointers_),
          matrices_(other.matrices_) {}

    constexpr Index count() const { return count_; }

    /// Matrix k, 0 <= k < count().
    constexpr View<T> operator[](Index k) const {
        if (layout_ == Layout::matrices) return matrices_[k];
        T* const data = layout_ == Layout::strided ? first_.data() + k * stride_ : pointers_[k];
        return View<T>::column_major(data, first_.rows(), first_.cols(), first_.col_stride());
    }

    /// Matrices [begin, end), 0 <= begin <= end <= count().
    BatchView part(Index begin, Index end) const {
        BatchView batch = *this;
        batch.count_ = end - begin;
        if (layout_ == Layout::strided && begin < end) {
            batch.first_ = (*this)[begin];
        } else if (layout_ == Layout::pointers) {
            batch.pointers_ += begin;
        } else if (layout_ == Layout::matrices) {
            batch.matrices_ += begin;
        }
        return batch;
    }

    /// Whether shapes and leading dimensions are the same for all matrices because of the layout.
    constexpr bool uniform() const { return layout_ != Layout::matrices; }
    bool is_strided() const { return layout_ == Layout::strided; }
    /// Shape and leading dimension of every matrix where uniform(). Its address is matrix 0's or null. Of a list: its
    /// bounds.
    constexpr const View<T>& shape() const { return first_; }
    /// False for a list without bounds, whose shape() has no meaning.
    bool bounded() const { return uniform() || first_.col_stride() > 0; }
    /// Elements from one matrix to the next in the strided layout; otherwise 0.
    Index stride() const { return stride_; }
    /// Whether the array or list is null. That is allowed where there is no element or no matrix.
    bool missing() const {
        return layout_ == Layout::strided    ? first_.data() == nullptr && !first_.empty()
               : layout_ == Layout::pointers ? pointers_ == nullptr
                                             : matrices_ == nullptr;
    }

  private:
    template <class U>
    friend class BatchView;
    enum class Layout : std::uint8_t { strided, pointers, matrices };

    BatchView(Layout layout, Index count) : layout_(layout), count_(count) {}

    Layout layout_ = Layout::strided;
    Index count_ = 0;
    View<T> first_;  ///< shape and leading dimension, or bounds; strided: matrix 0
    Index stride_ = 0;
    T* const* pointers_ = nullptr;
    const View<Element>* matrices_ = nullptr;
};

/// A batch as data of the runtime: one datum, whose parts are its slices of matrices. Tasks on slices that do not
/// overlap are independent.
///
/// The matrices stay in the user's memory, which is not copied: kernels get no view of them but use view(), as with a
/// Token. So a batch is for tasks on cores. After a wait() the user may read and write the matrices directly until the
/// next submission.
///
/// Movable, not copyable. Destruction waits for the tasks that use the batch. It may outlive its runtime. Thread-safe
/// like Runtime::submit.
template <class T>
class Batch {
  public:
    /// Some matrices of a batch, for read(), write(), readwrite() and commute().
    class Slice {
      public:
        TokenAccess access(AccessMode mode) const { return {{datum_, begin_, end_, 0, 1, generation_, mode}}; }
        /// The slice's matrices. To be used by tasks that access the slice.
        const BatchView<T>& view() const { return view_; }

      private:
        friend class Batch;
        Slice(detail::Datum* datum, std::uint32_t generation, Index begin, Index end, const BatchView<T>& view)
            : datum_(datum), generation_(generation), begin_(begin), end_(end), view_(view) {}

        detail::Datum* datum_;
        std::uint32_t generation_;
        Index begin_;
        Index end_;
        BatchView<T> view_;
    };

    Batch() = default;
    /// Describes the user's matrices, which exist as long as the batch. `name`, which is copied, appears in errors;
    /// nullptr: "batch#number". Throws UsageError for matrices that are missing, overlap by their stride or have a
    /// leading dimension below max(1, rows).
    Batch(Runtime& runtime, const BatchView<T>& matrices, const char* name = nullptr);

    Index count() const { return view_.count(); }
    const BatchView<T>& view() const { return view_; }

    /// Matrices [begin, end). Throws UsageError unless 0 <= begin <= end <= count().
    Slice slice(Index begin, Index end) const;
    /// All of them.
    TokenAccess access(AccessMode mode) const { return slice(0, count()).access(mode); }

    /// Waits for the tasks that use the batch, and for no others. Throws DataError where a task that should have
    /// written matrices failed or was cancelled.
    const BatchView<T>& host_view() const;

  private:
    detail::DatumHandle handle_;
    BatchView<T> view_;
};

}  // namespace basalt
