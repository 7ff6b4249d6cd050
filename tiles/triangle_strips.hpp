#pragma once

#include <algorithm>

#include <basalt/view.hpp>

namespace basalt {

/// The lower triangle of a square as rectangles, one behind the other in one array: strip s holds rows
/// [first(s), end(s)) of columns [0, end(s)), row-major and dense. All strips but the last have equally many
/// rows. One strip is the square.
class TriangleStrips {
  public:
    TriangleStrips() = default;
    /// At most `count` strips, at least 1.
    TriangleStrips(Index order, Index count)
        : order_(order), height_(std::max<Index>((order + count - 1) / count, 1)) {}

    Index order() const { return order_; }
    Index count() const { return (order_ + height_ - 1) / height_; }
    Index first(Index s) const { return s * height_; }
    Index end(Index s) const { return std::min((s + 1) * height_, order_); }
    Index rows(Index s) const { return end(s) - first(s); }
    /// Elements in front of strip s.
    Index offset(Index s) const { return height_ * height_ * s * (s + 1) / 2; }
    /// Of all strips.
    Index elements() const { return count() == 0 ? 0 : offset(count() - 1) + rows(count() - 1) * order_; }

    template <class T>
    View<T> strip(T* array, Index s) const {
        return View<T>::row_major(array + offset(s), rows(s), end(s), end(s));
    }
    /// Rows of strip s, columns that are the rows of strip t <= s.
    template <class T>
    View<T> block(T* array, Index s, Index t) const {
        return strip(array, s).block(0, first(t), rows(s), rows(t));
    }
    /// The same with all columns left of strip t's.
    template <class T>
    View<T> left_of(T* array, Index s, Index t) const {
        return strip(array, s).block(0, 0, rows(s), first(t));
    }

  private:
    Index order_ = 0;
    Index height_ = 1;
};

}  // namespace basalt
