#pragma once

namespace basalt::detail {

/// Whether two regions of one datum have an element in common; both have the members row_begin, row_end, col_begin and
/// col_end.
template <class A, class B>
bool regions_overlap(const A& a, const B& b) {
    return a.row_begin < b.row_end && b.row_begin < a.row_end && a.col_begin < b.col_end && b.col_begin < a.col_end;
}

}  // namespace basalt::detail
