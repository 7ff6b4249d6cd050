#pragma once

#include <vector>

#include "basalt/generator.hpp"
#include "basalt/matrix.hpp"
#include "basalt/runtime.hpp"

namespace basalt {

/// A result passes if the ratio of its residual is below this; LAPACK's own tests have the same bound.
inline constexpr double passing_ratio = 30;

/// The residuals of A X = B, in double.
struct Residuals {
    std::vector<double> elements;  ///< B - A X, column-major, of the size of B
    double a_inf = 0;              ///< ||A||_oo

    /// ||b - A x||_oo of column j of `rows` elements.
    double column_norm(Index j, Index rows) const;
};

/// The residuals for the matrix A of the generator's first x.rows() columns. A is generated again block by block and
/// never stored, so that the check needs little memory. B is generator.rows() x x.cols(). Submits tasks to `runtime`
/// and waits for them.
template <class T>
Residuals residuals(Runtime& runtime, const Generator<T>& generator, View<const double> x, View<const double> b);

/// Norms of A x = b, all in double.
struct SystemNorms {
    double residual_inf = 0;  ///< ||b - A x||_oo
    double a_inf = 0;         ///< ||A||_oo
};

/// The norms of the residuals for one right-hand side.
template <class T>
SystemNorms system_norms(Runtime& runtime, const Generator<T>& generator, const std::vector<double>& x,
                         const std::vector<double>& b);

/// The same for A in tiles on GPUs, which compute the products: only vectors come to the host. A is the first x.size()
/// columns of `matrix`.
template <class T>
SystemNorms system_norms_on_gpus(Runtime& runtime, const Matrix<T>& matrix, std::vector<double> x,
                                 std::vector<double> b);

/// ||A||_1 of the generator's first `cols` columns.
template <class T>
double one_norm(Runtime& runtime, const Generator<T>& generator, Index cols);

/// max_i |x_i|; 0 for an empty vector, NaN if an entry is NaN.
double max_magnitude(View<const double> x);
double max_magnitude(const std::vector<double>& x);

}  // namespace basalt
