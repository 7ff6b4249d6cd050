#pragma once

#include <basalt/generator.hpp>

#include "tiles/norms.hpp"

namespace basalt {

/// residual(i) -= sum_j block(i, j) x(j), in double: one step of b - A x, block by block. `x` holds
/// block.cols() elements, `residual` block.rows(). For float and double. Safe at once on disjoint residuals.
template <class T>
void subtract_product(View<const T> block, View<const T> x, View<double> residual);

/// Infinity norms over some rows of A x = b. merge() gives the norms over the rows of both.
struct ResidualNorms {
    double residual = 0;  ///< max_i |b_i - sum_j a_ij x_j|
    double matrix = 0;    ///< max_i sum_j |a_ij|
    double rhs = 0;       ///< max_i |b_i|

    void merge(const ResidualNorms& other) {
        residual = max_or_nan(residual, other.residual);
        matrix = max_or_nan(matrix, other.matrix);
        rhs = max_or_nan(rhs, other.rhs);
    }
};

/// The norms over rows [row_begin, row_end) for the matrix of the generator's first x.rows() columns, which
/// is made block by block in a small scratch array and never stored. `x` and `b` are whole vectors (views of
/// one column). HPL's check and the backward error both start from these. Throws UsageError where
/// x, b or the range do not fit the generator. For float and double.
template <class T>
ResidualNorms residual_norms(const Generator<T>& generator, Index row_begin, Index row_end, View<const T> x,
                             View<const T> b);

}  // namespace basalt
