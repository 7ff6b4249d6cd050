#include "apps/cholesky_check.hpp"

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "apps/residual.hpp"

namespace basalt {

namespace {

using Vector = std::vector<double>;

double& at(Vector& x, Index i) { return x[static_cast<std::size_t>(i)]; }

/// L in a tile column: rows from its first column's on.
template <class T>
struct LowerPart {
    View<const T> rows;  ///< of the whole tile column
    Index first;         ///< matrix column of its first one
};

template <class T>
std::vector<LowerPart<T>> lower_parts(const Matrix<T>& factor) {
    std::vector<LowerPart<T>> parts;
    Index first = 0;
    for (Index j = 0; j < factor.tile_cols(); ++j) {
        const View<T> rows = factor.host_view(j);
        parts.push_back({rows, first});
        first += rows.cols();
    }
    return parts;
}

/// L^T v: a task for each tile column.
template <class T>
Vector transposed_product(Runtime& runtime, const std::vector<LowerPart<T>>& parts, const Vector& v) {
    Vector product(v.size());
    for (const LowerPart<T>& part : parts) {
        runtime.submit({.name = "check"}, [&product, &v, part] {
            for (Index i = part.first; i < part.rows.rows(); ++i) {
                const double factor = v[static_cast<std::size_t>(i)];
                for (Index c = 0; c < std::min(i - part.first + 1, part.rows.cols()); ++c) {
                    at(product, part.first + c) += static_cast<double>(part.rows(i, c)) * factor;
                }
            }
        });
    }
    runtime.wait();
    return product;
}

/// L x: a task for some rows.
template <class T>
Vector product(Runtime& runtime, const std::vector<LowerPart<T>>& parts, const Vector& x) {
    constexpr Index chunk = 128;
    Vector result(x.size());
    const auto n = std::ssize(x);
    for (Index first = 0; first < n; first += chunk) {
        runtime.submit({.name = "check"}, [&, first, end = std::min(first + chunk, n)] {
            for (const LowerPart<T>& part : parts) {
                for (Index i = std::max(first, part.first); i < end; ++i) {
                    double sum = 0;
                    for (Index c = 0; c < std::min(i - part.first + 1, part.rows.cols()); ++c) {
                        sum += static_cast<double>(part.rows(i, c)) * x[static_cast<std::size_t>(part.first + c)];
                    }
                    at(result, i) += sum;
                }
            }
        });
    }
    runtime.wait();
    return result;
}

}  // namespace

template <class T>
double cholesky_residual_ratio(Runtime& runtime, const Generator<T>& generator, const Matrix<T>& factor) {
    std::mt19937_64 random(1);
    Vector v(static_cast<std::size_t>(factor.cols()));
    for (double& entry : v) entry = (random() >> 63) != 0 ? 1.0 : -1.0;
    const auto parts = lower_parts(factor);
    const Vector llv = product(runtime, parts, transposed_product(runtime, parts, v));
    const SystemNorms norms = system_norms(runtime, generator, v, llv);
    if (norms.residual_inf == 0) return 0;
    constexpr double epsilon = std::numeric_limits<T>::epsilon() / 2;
    return norms.residual_inf / (static_cast<double>(factor.cols()) * norms.a_inf * epsilon);
}

template double cholesky_residual_ratio(Runtime&, const Generator<float>&, const Matrix<float>&);
template double cholesky_residual_ratio(Runtime&, const Generator<double>&, const Matrix<double>&);

}  // namespace basalt
