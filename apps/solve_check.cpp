#include "apps/solve_check.hpp"

#include <cmath>
#include <limits>

#include "apps/residual.hpp"

namespace basalt {

namespace {

template <class T>
Columns<double> in_double(const Columns<T>& columns) {
    Columns<double> result(columns.rows, columns.cols);
    result.elements.assign(columns.elements.begin(), columns.elements.end());
    return result;
}

/// The quotient, and 0 for 0 / 0.
double share(double part, double whole) {
    return part == 0 ? 0 : part / whole;
}

void keep_worst(double& worst, double value) {
    if (value > worst || std::isnan(value)) worst = value;
}

}  // namespace

template <class T>
SolveErrors solve_errors(Runtime& runtime, const Generator<T>& matrix, const Columns<T>& x, const Columns<T>& b) {
    constexpr double epsilon = std::numeric_limits<T>::epsilon() / 2;
    const Columns<double> exact_x = in_double(x);
    const Columns<double> exact_b = in_double(b);
    const Residuals left = residuals(runtime, matrix, exact_x.view(), exact_b.view());
    SolveErrors worst;
    for (Index j = 0; j < b.cols; ++j) {
        const double residual = left.column_norm(j, b.rows);
        const double x_norm = max_magnitude(exact_x.view().block(0, j, x.rows, 1));
        const double b_norm = max_magnitude(exact_b.view().block(0, j, b.rows, 1));
        keep_worst(worst.ratio, share(residual, static_cast<double>(x.rows) * left.a_inf * x_norm * epsilon));
        keep_worst(worst.backward_error, share(residual, left.a_inf * x_norm + b_norm));
    }
    return worst;
}

template SolveErrors solve_errors(Runtime&, const Generator<float>&, const Columns<float>&, const Columns<float>&);
template SolveErrors solve_errors(Runtime&, const Generator<double>&, const Columns<double>&, const Columns<double>&);

}  // namespace basalt
