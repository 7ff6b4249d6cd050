#include "apps/factor/cholesky_check.hpp"

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "apps/factor/check_vector.hpp"
#include "apps/runs/residual.hpp"

namespace basalt {

namespace {

/// The triangle in a tile column.
template <class T>
struct FactorPart {
    View<const T> column;  ///< the whole tile column
    Index first;           ///< the column of the matrix that its first column is
    bool lower;

    /// The rows that the triangle has elements in, and its columns in row i.
    Index begin() const { return lower ? first : 0; }
    Index end() const { return lower ? column.rows() : first + column.cols(); }
    Index col_begin(Index i) const { return lower ? 0 : std::max<Index>(i - first, 0); }
    Index col_end(Index i) const { return lower ? std::min(i - first + 1, column.cols()) : column.cols(); }
};

template <class T>
std::vector<FactorPart<T>> factor_parts(const Matrix<T>& factor, Triangle triangle) {
    std::vector<FactorPart<T>> parts;
    Index first = 0;
    for (Index j = 0; j < factor.tile_cols(); ++j) {
        const View<T> column = factor.host_view(j);
        parts.push_back({column, first, triangle == Triangle::lower});
        first += column.cols();
    }
    return parts;
}

/// F^T v: a task for each tile column.
template <class T>
Vector transposed_product(Runtime& runtime, const std::vector<FactorPart<T>>& parts, const Vector& v) {
    Vector product(v.size());
    for (const FactorPart<T>& part : parts) {
        runtime.submit({.name = "check"}, [&product, &v, part] {
            for (Index i = part.begin(); i < part.end(); ++i) {
                const double factor = v[static_cast<std::size_t>(i)];
                for (Index c = part.col_begin(i); c < part.col_end(i); ++c) {
                    element(product, part.first + c) += static_cast<double>(part.column(i, c)) * factor;
                }
            }
        });
    }
    runtime.wait();
    return product;
}

/// F x: a task for each block of rows.
template <class T>
Vector product(Runtime& runtime, const std::vector<FactorPart<T>>& parts, const Vector& x) {
    constexpr Index chunk = 128;
    Vector result(x.size());
    const auto n = std::ssize(x);
    for (Index first = 0; first < n; first += chunk) {
        runtime.submit({.name = "check"}, [&, first, end = std::min(first + chunk, n)] {
            for (const FactorPart<T>& part : parts) {
                for (Index i = std::max(first, part.begin()); i < std::min(end, part.end()); ++i) {
                    double sum = 0;
                    for (Index c = part.col_begin(i); c < part.col_end(i); ++c) {
                        sum += static_cast<double>(part.column(i, c)) * x[static_cast<std::size_t>(part.first + c)];
                    }
                    element(result, i) += sum;
                }
            }
        });
    }
    runtime.wait();
    return result;
}

}  // namespace

template <class T>
double cholesky_residual_ratio(Runtime& runtime, const Generator<T>& generator, const Matrix<T>& factor,
                               Triangle triangle) {
    std::mt19937_64 random(1);
    Vector v(static_cast<std::size_t>(factor.cols()));
    for (double& entry : v) entry = (random() >> 63) != 0 ? 1.0 : -1.0;
    const auto parts = factor_parts(factor, triangle);
    const Vector made = triangle == Triangle::lower ? product(runtime, parts, transposed_product(runtime, parts, v))
                                                    : transposed_product(runtime, parts, product(runtime, parts, v));
    const SystemNorms norms = system_norms(runtime, generator, v, made);
    if (norms.residual_inf == 0) return 0;
    constexpr double epsilon = std::numeric_limits<T>::epsilon() / 2;
    return norms.residual_inf / (static_cast<double>(factor.cols()) * norms.a_inf * epsilon);
}

template double cholesky_residual_ratio(Runtime&, const Generator<float>&, const Matrix<float>&, Triangle);
template double cholesky_residual_ratio(Runtime&, const Generator<double>&, const Matrix<double>&, Triangle);

}  // namespace basalt
