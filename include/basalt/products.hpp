#pragma once

#include "basalt/array.hpp"
#include "basalt/matrix.hpp"
#include "basalt/matrix_part.hpp"

namespace basalt {

/// y -= A x for the first x.size() columns of A, or for a part of them. Sums are in double, and in the same order each
/// time for the same number of GPUs and deal. y has as many elements as A has rows.
///
/// Each GPU multiplies the tile columns that are dealt to it (Matrix::dealt_to()). The matrix stays there; only vectors
/// come to the host's memory. Submits tasks and waits for them. Throws UsageError where the sizes do not fit. T: float
/// or double.
template <class T>
void subtract_product(Runtime& runtime, const Matrix<T>& a, MatrixPart part, const Array<double>& x,
                      const Array<double>& y);

}  // namespace basalt
