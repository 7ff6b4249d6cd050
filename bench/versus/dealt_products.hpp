#pragma once

#include <vector>

#include "tiles/dealt_columns.hpp"

/// Products with a vector that compare a matrix with its factors, by cuBLAS in the precision of the elements; each GPU
/// multiplies its own columns. The matrix is in the memory of GPUs, the vectors on the host. They wait. For float and
/// double. Throw std::bad_alloc, std::runtime_error.
namespace bench {

/// A x.
template <class T>
std::vector<double> times(const basalt::DealtView<T>& a, const std::vector<double>& x);

/// L U x, with the factors in a square `a` as getrf leaves them.
template <class T>
std::vector<double> times_lu(const basalt::DealtView<T>& a, const std::vector<double>& x);

/// A x for the symmetric A of a lower triangle.
template <class T>
std::vector<double> times_symmetric(const basalt::DealtView<T>& a, const std::vector<double>& x);

/// L L^T x for the lower triangle L.
template <class T>
std::vector<double> times_cholesky(const basalt::DealtView<T>& l, const std::vector<double>& x);

}  // namespace bench
