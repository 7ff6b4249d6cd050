#include "apps/solve/check.hpp"

#include <cmath>
#include <limits>

#include "apps/runs/residual.hpp"
#include "apps/solve/transposed_matrix.hpp"

namespace basalt {

namespace {

template <class T>
Columns<double> in_double(const Columns<T>& columns) {
    Columns<double> result(columns.rows, columns.cols);
    result.elements.assign(columns.elements.begin(), columns.elements.end());
    return result;
}

/// The quotient, and 0 for 0 / 0.
double share(double part, double whole) { return part == 0 ? 0 : part / whole; }

void keep_worst(double& worst, double value) {
    if (value > worst || std::isnan(value)) worst = value;
}

/// The norms of one column of the system.
struct ColumnNorms {
    double residual;
    double x;
    double b;
};

/// `residual` as solve_errors() takes it; a_inf = ||A||.
SolveErrors errors_of(const ColumnNorms& norms, double a_inf, Index rows, Index cols, double epsilon) {
    SolveErrors errors;
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();  // infinite norms accept everything
    if (!std::isfinite(a_inf)) return {.ratio = unknown, .a_inf = a_inf, .backward_error = unknown};
    // products of norms may overflow; quotients do not, as ||b - A x|| <= ||A|| ||x|| + ||b||
    const double of_product = share(share(norms.residual, a_inf), norms.x);
    const double of_b = share(norms.residual, norms.b);
    errors.backward_error = norms.residual == 0 ? 0 : 1 / (1 / of_product + 1 / of_b);
    errors.ratio = rows > cols ? errors.backward_error / (static_cast<double>(rows) * epsilon)
                               : share(of_product, static_cast<double>(cols) * epsilon);
    return errors;
}

}  // namespace

template <class T>
SolveErrors solve_errors(Runtime& runtime, std::shared_ptr<const Generator<T>> matrix, const Columns<T>& x,
                         const Columns<T>& b) {
    constexpr double epsilon = std::numeric_limits<T>::epsilon() / 2;
    const Columns<double> exact_x = in_double(x);
    const Columns<double> exact_b = in_double(b);
    const Residuals left = residuals(runtime, *matrix, exact_x.view(), exact_b.view());
    Residuals in_range;  // - A^T (b - A x)
    if (b.rows > x.rows) {
        const Columns<double> zero(x.rows, x.cols);
        const auto residual = View<const double>::column_major(left.elements.data(), b.rows, b.cols, b.rows);
        in_range = residuals(runtime, TransposedMatrix<T>(matrix), residual, zero.view());
    }
    SolveErrors worst;
    worst.a_inf = left.a_inf;
    for (Index j = 0; j < b.cols; ++j) {
        const double residual =
            b.rows > x.rows ? share(in_range.column_norm(j, x.rows), in_range.a_inf) : left.column_norm(j, b.rows);
        const ColumnNorms norms = {residual, max_magnitude(exact_x.view().block(0, j, x.rows, 1)),
                                   max_magnitude(exact_b.view().block(0, j, b.rows, 1))};
        const SolveErrors errors = errors_of(norms, left.a_inf, b.rows, x.rows, epsilon);
        keep_worst(worst.ratio, errors.ratio);
        keep_worst(worst.backward_error, errors.backward_error);
    }
    return worst;
}

template SolveErrors solve_errors(Runtime&, std::shared_ptr<const Generator<float>>, const Columns<float>&,
                                  const Columns<float>&);
template SolveErrors solve_errors(Runtime&, std::shared_ptr<const Generator<double>>, const Columns<double>&,
                                  const Columns<double>&);

}  // namespace basalt
