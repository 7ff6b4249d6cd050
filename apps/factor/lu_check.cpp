#include "apps/factor/lu_check.hpp"

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

#include "apps/factor/check_vector.hpp"
#include "apps/runs/residual.hpp"
#include "basalt/products.hpp"

namespace basalt {

namespace {

Vector random_signs(Index size) {
    std::mt19937_64 random(1);
    Vector v(static_cast<std::size_t>(size));
    for (double& entry : v) entry = (random() >> 63) != 0 ? 1.0 : -1.0;
    return v;
}

/// The matrix as its tile columns lie in memory, for reading whole rows.
template <class T>
class Rows {
  public:
    explicit Rows(const Matrix<T>& matrix) {
        for (Index j = 0; j < matrix.tile_cols(); ++j) columns_.push_back(matrix.host_view(j));
    }

    /// sum of a(i, j) x(j) over begin <= j < end
    double dot(Index i, Index begin, Index end, const Vector& x) const {
        double sum = 0;
        Index first = 0;
        for (const auto& column : columns_) {
            const Index stop = std::min(end - first, column.cols());
            for (Index j = std::max<Index>(begin - first, 0); j < stop; ++j) {
                sum += static_cast<double>(column(i, j)) * element(x, first + j);
            }
            first += column.cols();
        }
        return sum;
    }

  private:
    std::vector<View<const T>> columns_;
};

/// Runs body(i) for all rows i as tasks and waits for them.
template <class Body>
void for_rows(Runtime& runtime, Index rows, const Body& body) {
    constexpr Index chunk = 128;
    for (Index first = 0; first < rows; first += chunk) {
        runtime.submit({.name = "check"}, [&body, first, end = std::min(first + chunk, rows)] {
            for (Index i = first; i < end; ++i) body(i);
        });
    }
    runtime.wait();
}

/// The factorization exchanged rows 0, 1, ... in this order; P undoes it.
void undo_interchanges(const std::vector<Index>& pivots, Vector& x) {
    for (Index i = std::ssize(pivots) - 1; i >= 0; --i) {
        std::swap(element(x, i), element(x, pivots[static_cast<std::size_t>(i)] - 1));
    }
}

/// P L U v
template <class T>
Vector factor_product(Runtime& runtime, const Matrix<T>& factors, const std::vector<Index>& pivots, const Vector& v) {
    const Rows<T> rows(factors);
    const Index m = factors.rows();
    const Index n = factors.cols();
    const Index k = std::min(m, n);
    Vector uv(static_cast<std::size_t>(k));
    for_rows(runtime, k, [&](Index i) { element(uv, i) = rows.dot(i, i, n, v); });
    Vector luv(static_cast<std::size_t>(m));
    for_rows(runtime, m, [&](Index i) {
        const double unit_diagonal = i < k ? element(uv, i) : 0.0;
        element(luv, i) = rows.dot(i, 0, std::min(i, k), uv) + unit_diagonal;
    });
    undo_interchanges(pivots, luv);
    return luv;
}

/// The same, computed by GPUs. L is its part left of the diagonal, plus I.
template <class T>
Vector factor_product_on_gpus(Runtime& runtime, const Matrix<T>& factors, const std::vector<Index>& pivots, Vector v) {
    const Index m = factors.rows(), n = factors.cols(), k = std::min(m, n);
    const auto x = Array<double>::wrap(runtime, v.data(), n);
    Vector minus_uv(static_cast<std::size_t>(m), 0.0);
    subtract_product(runtime, factors, MatrixPart::upper, x, Array<double>::wrap(runtime, minus_uv.data(), m));
    Vector luv(static_cast<std::size_t>(m));
    for (Index i = 0; i < m; ++i) element(luv, i) = -element(minus_uv, i);
    const auto y = Array<double>::wrap(runtime, minus_uv.data(), k);
    subtract_product(runtime, factors, MatrixPart::strictly_lower, y, Array<double>::wrap(runtime, luv.data(), m));
    undo_interchanges(pivots, luv);
    return luv;
}

template <class T>
double ratio_of(const SystemNorms& norms, Index n) {
    if (norms.residual_inf == 0) return 0;
    constexpr double epsilon = std::numeric_limits<T>::epsilon() / 2;
    return norms.residual_inf / (static_cast<double>(n) * norms.a_inf * epsilon);
}

}  // namespace

template <class T>
double lu_residual_ratio(Runtime& runtime, const Generator<T>& generator, const Matrix<T>& factors,
                         const std::vector<Index>& pivots) {
    const Vector v = random_signs(factors.cols());
    const Vector product = factor_product(runtime, factors, pivots, v);
    return ratio_of<T>(system_norms(runtime, generator, v, product), factors.cols());
}

template <class T>
double lu_residual_ratio_on_gpus(Runtime& runtime, const std::shared_ptr<const Generator<T>>& generator,
                                 Matrix<T>& factors, const std::vector<Index>& pivots) {
    const Vector v = random_signs(factors.cols());
    const Vector product = factor_product_on_gpus(runtime, factors, pivots, v);
    factors.fill(generator, Place::any());
    return ratio_of<T>(system_norms_on_gpus(runtime, factors, v, product), factors.cols());
}

template double lu_residual_ratio(Runtime&, const Generator<float>&, const Matrix<float>&, const std::vector<Index>&);
template double lu_residual_ratio(Runtime&, const Generator<double>&, const Matrix<double>&, const std::vector<Index>&);
template double lu_residual_ratio_on_gpus(Runtime&, const std::shared_ptr<const Generator<float>>&, Matrix<float>&,
                                          const std::vector<Index>&);
template double lu_residual_ratio_on_gpus(Runtime&, const std::shared_ptr<const Generator<double>>&, Matrix<double>&,
                                          const std::vector<Index>&);

}  // namespace basalt
