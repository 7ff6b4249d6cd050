#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "basalt/generator.hpp"
#include "basalt/runtime.hpp"

namespace basalt {

/// A column-major array without gaps between its columns.
template <class T>
struct Columns {
    Index rows = 0;
    Index cols = 0;
    std::vector<T> elements;

    Columns() = default;
    Columns(Index rows, Index cols) : rows(rows), cols(cols), elements(static_cast<std::size_t>(rows * cols)) {}

    /// Where column j begins; valid for empty columns too.
    T* column(Index j) { return elements.data() + j * rows; }
    const T* column(Index j) const { return elements.data() + j * rows; }
    View<T> view() { return View<T>::column_major(elements.data(), rows, cols, rows); }
    View<const T> view() const { return View<const T>::column_major(elements.data(), rows, cols, rows); }
};

/// Copies the first rows of every column, as many as both have. `to` has as many columns as `from`.
template <class T>
void copy_top_rows(const Columns<T>& from, Columns<T>& to) {
    const Index rows = std::min(from.rows, to.rows);
    for (Index j = 0; j < from.cols; ++j) std::copy_n(from.column(j), rows, to.column(j));
}

/// The right-hand sides in a Matrix Market file for a matrix of `rows` rows, which messages call `matrix`. Throws as
/// load_matrix_file() does, and WrongUse for another number of rows. For float and double.
template <class T>
Columns<T> read_right_hand_sides(const std::string& path, Index rows, const std::string& matrix);

/// A * ones: the right-hand side whose solution is all ones; sums are made in double. Runs as tasks of `runtime` and
/// waits for them. For float and double.
template <class T>
Columns<T> row_sums(Runtime& runtime, const Generator<T>& matrix);

}  // namespace basalt
