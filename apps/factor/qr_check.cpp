#include "apps/factor/qr_check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "apps/factor/check_vector.hpp"
#include "apps/runs/residual.hpp"

namespace basalt {

namespace {

Vector random_signs(Index size, unsigned seed) {
    std::mt19937_64 random(seed);
    Vector v(static_cast<std::size_t>(size));
    for (double& entry : v) entry = (random() >> 63) != 0 ? 1.0 : -1.0;
    return v;
}

/// R x
template <class T>
Vector triangle_product(const Matrix<T>& factors, const Vector& x) {
    Vector product(static_cast<std::size_t>(factors.rows()));
    Index first = 0;
    for (Index j = 0; j < factors.tile_cols(); ++j) {
        const View<const T> column = factors.host_view(j);
        for (Index i = 0; i < std::min(column.rows(), first + column.cols()); ++i) {
            double sum = 0;
            for (Index c = std::max<Index>(0, i - first); c < column.cols(); ++c) {
                sum += static_cast<double>(column(i, c)) * x[static_cast<std::size_t>(first + c)];
            }
            product[static_cast<std::size_t>(i)] += sum;
        }
        first += column.cols();
    }
    return product;
}

/// The vector as a matrix of one column, in T.
template <class T>
Matrix<T> as_column(Runtime& runtime, const Vector& x) {
    const std::vector<T> values(x.begin(), x.end());
    const Index rows = std::ssize(values);
    return Matrix<T>::from_columns(runtime, values.data(), rows, 1, std::max<Index>(1, rows), {512, 1});
}

template <class T>
Vector from_column(const Matrix<T>& x) {
    const View<const T> values = x.host_view(0);
    Vector result(static_cast<std::size_t>(x.rows()));
    for (Index i = 0; i < x.rows(); ++i) result[static_cast<std::size_t>(i)] = static_cast<double>(values(i, 0));
    return result;
}

}  // namespace

template <class T>
double qr_residual_ratio(Runtime& runtime, const Generator<T>& generator, const Matrix<T>& factors,
                         const QrFactors<T>& qr) {
    const Index m = factors.rows(), n = factors.cols();
    if (m == 0 || n == 0) return 0;
    constexpr double epsilon = std::numeric_limits<T>::epsilon() / 2;
    const Vector x = random_signs(n, 1), y = random_signs(m, 2);
    Matrix<T> product = as_column<T>(runtime, triangle_product(factors, x)), there_and_back = as_column<T>(runtime, y);
    qr_apply(runtime, qr, QrSide::left, QrOp::plain, product);
    qr_apply(runtime, qr, QrSide::left, QrOp::plain, there_and_back);
    qr_apply(runtime, qr, QrSide::left, QrOp::transposed, there_and_back);
    const SystemNorms norms = system_norms(runtime, generator, x, from_column(product));
    Vector difference = from_column(there_and_back);
    for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= y[i];
    const double orthogonality = max_magnitude(difference) / (static_cast<double>(m) * epsilon);
    if (norms.residual_inf == 0) return orthogonality;
    const double residual = norms.residual_inf / (static_cast<double>(std::max(m, n)) * norms.a_inf * epsilon);
    return residual <= orthogonality ? orthogonality : residual;  // also where it is NaN
}

template double qr_residual_ratio(Runtime&, const Generator<float>&, const Matrix<float>&, const QrFactors<float>&);
template double qr_residual_ratio(Runtime&, const Generator<double>&, const Matrix<double>&, const QrFactors<double>&);

}  // namespace basalt
