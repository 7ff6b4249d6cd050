#pragma once

#include <basalt/basalt.hpp>

#include "tiles/dealt_columns.hpp"

namespace bench {

/// Matrix::load() and store() for an array whose blocks are as wide as the matrix's tile columns, and best dealt in the
/// same way: each of the runtime's GPUs converts its own columns. Errors are those of Runtime::submit().
template <class T>
void load_dealt(basalt::Matrix<T>& a, const basalt::DealtView<T>& source);
template <class T>
void store_dealt(const basalt::Matrix<T>& a, const basalt::DealtView<T>& target);
/// The same for the lower triangle of a square matrix.
template <class T>
void load_dealt_triangle(basalt::Matrix<T>& a, const basalt::DealtView<T>& source);
template <class T>
void store_dealt_triangle(const basalt::Matrix<T>& a, const basalt::DealtView<T>& target);

}  // namespace bench
