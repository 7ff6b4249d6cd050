#include "kernels/cpu/rows/row_swap.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

namespace basalt {

template <class T>
void swap_rows(View<T> a, const Index* pivots, Index count) {
    assert(a.col_stride() == 1 || a.cols() <= 1);
    for (Index k = 0; k < count; ++k) {
        if (pivots[k] == k) continue;
        T* upper = a.data() + k * a.row_stride();
        std::swap_ranges(upper, upper + a.cols(), a.data() + pivots[k] * a.row_stride());
    }
}

RowPermutation::RowPermutation(Index rows, const std::vector<Interchanges>& lists) {
    std::vector<Index> source(static_cast<std::size_t>(rows));  // new row i is old row source[i]
    std::iota(source.begin(), source.end(), Index{0});
    for (const Interchanges& list : lists) {
        for (Index k = 0; k < list.count; ++k) {
            const Index upper = list.offset + k, lower = list.offset + list.pivots[k];
            if (upper < 0 || upper >= rows || lower < 0 || lower >= rows) {
                throw std::out_of_range("interchange of rows " + std::to_string(upper) + " and " +
                                        std::to_string(lower) + " of " + std::to_string(rows));
            }
            std::swap(source[static_cast<std::size_t>(upper)], source[static_cast<std::size_t>(lower)]);
        }
    }
    for (Index start = 0; start < rows; ++start) {
        if (source[static_cast<std::size_t>(start)] == start) continue;
        Index row = start;
        while (source[static_cast<std::size_t>(row)] != row) {  // a visited row becomes a fixed point
            rows_.push_back(row);
            row = std::exchange(source[static_cast<std::size_t>(row)], row);
        }
        cycle_ends_.push_back(moved());
    }
}

template <class T>
void RowPermutation::apply(View<T> a, T* scratch) const {
    assert(a.col_stride() == 1 || a.cols() <= 1);
    const auto row = [&](Index i) { return a.data() + rows_[static_cast<std::size_t>(i)] * a.row_stride(); };
    const auto copy = [cols = a.cols()](const T* from, T* to) {
        if (cols == 1) {
            *to = *from;  // a call would take longer than the rest
        } else {
            std::copy_n(from, cols, to);
        }
    };
    Index begin = 0;
    for (const Index end : cycle_ends_) {
        copy(row(begin), scratch);
        for (Index i = begin; i + 1 < end; ++i) copy(row(i + 1), row(i));
        copy(scratch, row(end - 1));
        begin = end;
    }
}

template void swap_rows(View<float>, const Index*, Index);
template void swap_rows(View<double>, const Index*, Index);
template void RowPermutation::apply(View<float>, float*) const;
template void RowPermutation::apply(View<double>, double*) const;

}  // namespace basalt
