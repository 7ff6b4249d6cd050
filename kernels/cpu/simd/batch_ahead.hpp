#pragma once

#include "kernels/cpu/simd/kernels.hpp"

namespace basalt::simd {
namespace {

/// Fetches matrices to the second cache, one line after the other, in as many steps as a kernel has. Few lines can be
/// on their way at once: all of them in one go would stop the kernel.
template <class T>
class Fetch {
  public:
    Fetch(const Ahead<T>& ahead, Index steps) : ahead_(ahead) {
        if (ahead.count == 0) return;
        Index lines = 0;
        for (Index j = 0; j < ahead.cols; ++j) lines += (end(j) - begin(j) + line - 1) / line;
        at_once_ = (lines * ahead.count + steps - 1) / steps;
        row_ = begin(0);
    }

    __attribute__((always_inline)) void step() {
        for (Index l = 0; l < at_once_ && matrix_ < ahead_.count; ++l) fetch_line();
    }

    /// Whether nothing is left to fetch.
    bool done() const { return matrix_ >= ahead_.count; }

  private:
    static constexpr Index line = 64 / static_cast<Index>(sizeof(T));

    Index begin(Index column) const { return ahead_.part == BatchPart::lower ? column / line * line : 0; }
    Index end(Index column) const { return ahead_.part == BatchPart::upper ? column + 1 : ahead_.rows; }

    void fetch_line() {
        __builtin_prefetch(ahead_.matrices[matrix_] + column_ * ahead_.ld + row_, 1, 2);
        row_ += line;
        if (row_ < end(column_)) return;
        column_ = column_ + 1 < ahead_.cols ? column_ + 1 : 0;
        if (column_ == 0) ++matrix_;
        row_ = begin(column_);
    }

    const Ahead<T> ahead_;
    Index at_once_ = 0;
    Index matrix_ = 0, column_ = 0, row_ = 0;  ///< of the next line
};

}  // namespace
}  // namespace basalt::simd
