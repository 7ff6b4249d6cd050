#include "tasks/matrix/inverse_norm.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace basalt::detail {

namespace {

/// A vector in the host's memory and the matrix through which products reach it.
template <class T>
class ProductVector {
  public:
    ProductVector(Runtime& runtime, Index n)
        : runtime_(runtime), elements_(static_cast<std::size_t>(n)), matrix_(runtime, n, 1, {tile_rows, 1}, "x") {}

    std::vector<T>& elements() { return elements_; }

    void multiply(const VectorProduct<T>& product) {
        const auto column = View<T>::column_major(elements_.data(), matrix_.rows(), 1, matrix_.rows());
        matrix_.load(column);
        product(matrix_);
        matrix_.store(column);
        runtime_.wait();
    }

    double one_norm() const {
        double sum = 0;
        for (const T element : elements_) sum += std::abs(static_cast<double>(element));
        return sum;
    }

    Index largest() const {
        const auto smaller = [](T a, T b) { return std::abs(a) < std::abs(b); };
        return std::max_element(elements_.begin(), elements_.end(), smaller) - elements_.begin();
    }

  private:
    static constexpr Index tile_rows = 512;

    Runtime& runtime_;
    std::vector<T> elements_;
    Matrix<T> matrix_;
};

/// Replaces each element by its sign times `scale`; whether that is `signs`, which become the new signs.
template <class T>
bool take_signs(std::vector<T>& elements, T scale, std::vector<char>& signs) {
    bool same = true;
    for (std::size_t i = 0; i < elements.size(); ++i) {
        const char sign = elements[i] >= T{0} ? 1 : -1;
        same = same && signs[i] == sign;
        signs[i] = sign;
        elements[i] = sign > 0 ? scale : -scale;
    }
    return same;
}

}  // namespace

template <class T>
double one_norm_estimate(Runtime& runtime, Index n, T scale, const VectorProduct<T>& product,
                         const VectorProduct<T>& transposed_product) {
    constexpr int most_iterations = 5;
    ProductVector<T> vector(runtime, n);
    std::vector<T>& x = vector.elements();
    std::vector<char> signs(x.size(), 0);
    std::fill(x.begin(), x.end(), scale / static_cast<T>(n));
    vector.multiply(product);
    double estimate = vector.one_norm();
    if (n == 1 || !std::isfinite(estimate)) return estimate;

    take_signs(x, scale, signs);
    vector.multiply(transposed_product);
    Index largest = vector.largest();
    for (int iteration = 2; iteration <= most_iterations; ++iteration) {
        std::fill(x.begin(), x.end(), T{0});
        x[static_cast<std::size_t>(largest)] = scale;
        vector.multiply(product);
        const double former = estimate, found = vector.one_norm();
        if (!std::isfinite(found)) return found;
        estimate = found;  // as in LAPACK, also where the former one was larger
        if (take_signs(x, scale, signs) || found <= former) break;
        vector.multiply(transposed_product);
        const Index next = vector.largest();
        if (std::abs(x[static_cast<std::size_t>(next)]) == std::abs(x[static_cast<std::size_t>(largest)])) break;
        largest = next;
    }
    // a vector that the iteration cannot be misled about: its signs alternate and its elements grow from 1 to 2
    for (Index i = 0; i < n; ++i) {
        const T element = scale * (1 + static_cast<T>(i) / static_cast<T>(n - 1));
        x[static_cast<std::size_t>(i)] = i % 2 == 0 ? element : -element;
    }
    vector.multiply(product);
    const double alternative = 2 * vector.one_norm() / (3 * static_cast<double>(n));
    return alternative <= estimate ? estimate : alternative;  // also where that is NaN
}

template <class T>
double reciprocal_condition_estimate(Runtime& runtime, Index n, double norm, const VectorProduct<T>& solve,
                                     const VectorProduct<T>& solve_transposed) {
    if (n == 0) return 1;
    if (!(norm > 0) || !std::isfinite(norm)) return 0;
    // ||A^-1||_oo = ||A^-T||_1; with ||A|| in the vectors nothing overflows but for the condition number itself
    const double product = one_norm_estimate<T>(runtime, n, static_cast<T>(norm), solve_transposed, solve);
    return std::isfinite(product) && product > 0 ? 1 / product : 0;
}

template double reciprocal_condition_estimate(Runtime&, Index, double, const VectorProduct<float>&,
                                              const VectorProduct<float>&);
template double reciprocal_condition_estimate(Runtime&, Index, double, const VectorProduct<double>&,
                                              const VectorProduct<double>&);

}  // namespace basalt::detail
