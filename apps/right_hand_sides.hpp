#pragma once

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

    View<T> view() { return View<T>::column_major(elements.data(), rows, cols, rows); }
    View<const T> view() const { return View<const T>::column_major(elements.data(), rows, cols, rows); }
};

/// The right-hand sides in a Matrix Market file for a matrix of so many rows, `matrix` being what a message calls it.
/// Throws as load_matrix_file() does, and WrongUse for another number of rows. For float and double.
template <class T>
Columns<T> read_right_hand_sides(const std::string& path, Index rows, const std::string& matrix);

/// A * ones: the right-hand side whose solution is all ones; sums are made in double. Runs as tasks of `runtime` and
/// waits for them. For float and double.
template <class T>
Columns<T> row_sums(Runtime& runtime, const Generator<T>& matrix);

}  // namespace basalt
