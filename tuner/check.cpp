#include "tuner/check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace basalt::tuner {

namespace {

using Vector = std::vector<double>;

constexpr double infinite_ratio = std::numeric_limits<double>::infinity();

double norm(const Vector& x) {
    double sum = 0;
    for (const double value : x) sum += value * value;
    return std::sqrt(sum);
}

/// A column-major matrix of order n in double precision.
struct Square {
    int n;
    Vector values;

    explicit Square(int order) : n(order), values(static_cast<std::size_t>(order) * static_cast<std::size_t>(order)) {}
    double& at(int i, int j) { return values[place(i, j)]; }
    double at(int i, int j) const { return values[place(i, j)]; }
    std::size_t place(int i, int j) const {
        return static_cast<std::size_t>(i) + static_cast<std::size_t>(j) * static_cast<std::size_t>(n);
    }

    /// The product with x of a part: `part(i, j)` is the factor of element (i, j).
    template <class Part>
    Vector times(const Vector& x, const Part& part) const {
        Vector y(x.size());
        for (int j = 0; j < n; ++j) {
            for (int i = 0; i < n; ++i) {
                y[static_cast<std::size_t>(i)] += part(i, j) * x[static_cast<std::size_t>(j)];
            }
        }
        return y;
    }
    Vector times(const Vector& x) const {
        return times(x, [this](int i, int j) { return at(i, j); });
    }
};

class Noise {
  public:
    /// Between 0 and 1.
    double next() { return static_cast<double>((state_ = state_ * 69069U + 1U) >> 8) * 0x1p-24; }

  private:
    unsigned state_ = 1;
};

/// The vector that products are compared on: no element is near 0, so that each column counts.
Vector check_vector_of(int n) {
    Noise noise;
    Vector w;
    for (int i = 0; i < n; ++i) w.push_back((i % 3 == 1 ? -1 : 1) * (0.5 + noise.next() / 2));
    return w;
}

// ---- factors by plain loops, for BatchJob::solve -------------------------------------------------------------

void factor_cholesky(Square& a) {
    for (int k = 0; k < a.n; ++k) {
        a.at(k, k) = std::sqrt(a.at(k, k));
        for (int i = k + 1; i < a.n; ++i) a.at(i, k) /= a.at(k, k);
        for (int j = k + 1; j < a.n; ++j) {
            for (int i = j; i < a.n; ++i) a.at(i, j) -= a.at(i, k) * a.at(j, k);
        }
    }
}

void factor_lu(Square& a, Index* pivots) {
    for (int k = 0; k < a.n; ++k) {
        int chosen = k;
        for (int i = k + 1; i < a.n; ++i) chosen = std::abs(a.at(i, k)) > std::abs(a.at(chosen, k)) ? i : chosen;
        pivots[k] = chosen + 1;
        for (int j = 0; j < a.n; ++j) std::swap(a.at(k, j), a.at(chosen, j));
        for (int i = k + 1; i < a.n; ++i) a.at(i, k) /= a.at(k, k);
        for (int j = k + 1; j < a.n; ++j) {
            for (int i = k + 1; i < a.n; ++i) a.at(i, j) -= a.at(i, k) * a.at(k, j);
        }
    }
}

// ---- products of factors with a vector -----------------------------------------------------------------------

Vector product_of_cholesky(const Square& l, const Vector& w) {
    const Vector y = l.times(w, [&](int i, int j) { return i <= j ? l.at(j, i) : 0; });
    return l.times(y, [&](int i, int j) { return i >= j ? l.at(i, j) : 0; });
}

Vector product_of_lu(const Square& lu, const Index* pivots, const Vector& w) {
    Vector y = lu.times(w, [&](int i, int j) { return i <= j ? lu.at(i, j) : 0; });
    y = lu.times(y, [&](int i, int j) { return i > j ? lu.at(i, j) : i == j ? 1 : 0; });
    for (int k = lu.n - 1; k >= 0; --k) {
        const Index other = pivots[k] - 1;
        if (other < 0 || other >= lu.n) return Vector(w.size(), infinite_ratio);
        std::swap(y[static_cast<std::size_t>(k)], y[static_cast<std::size_t>(other)]);
    }
    return y;
}

Vector product_of_qr(const Square& qr, const Vector& tau, const Vector& w) {
    Vector y = qr.times(w, [&](int i, int j) { return i <= j ? qr.at(i, j) : 0; });
    for (int k = qr.n - 1; k >= 0; --k) {
        double sum = y[static_cast<std::size_t>(k)];
        for (int i = k + 1; i < qr.n; ++i) sum += qr.at(i, k) * y[static_cast<std::size_t>(i)];
        sum *= tau[static_cast<std::size_t>(k)];
        y[static_cast<std::size_t>(k)] -= sum;
        for (int i = k + 1; i < qr.n; ++i) y[static_cast<std::size_t>(i)] -= sum * qr.at(i, k);
    }
    return y;
}

// ---- the batch -----------------------------------------------------------------------------------------------

/// Where the matrix that fails does so.
int failing_pivot(int n) { return n / 2; }

template <class T>
class TypedCheck final : public BatchCheck {
  public:
    TypedCheck(const Problem& problem, Index count) : BatchCheck(problem, count), w_(check_vector_of(problem.n)) {
        Noise noise;
        for (Index k = 0; k < count; ++k) {
            Square a = make_matrix(noise, k);
            Vector b;
            for (int i = 0; i < problem.n; ++i) b.push_back(noise.next());
            matrices_.push_back(a);
            if (problem.job == BatchJob::solve) factor(a, k);
            append(input_.a, a.values);
            if (problem.job != BatchJob::factor) append(input_.b, b);
        }
        if (problem.routine == Routine::lu) input_.pivots.resize(static_cast<std::size_t>(count * problem.n));
        if (problem.routine == Routine::qr) input_.tau.resize(static_cast<std::size_t>(count * problem.n) * sizeof(T));
        if (problem.job != BatchJob::solve && !(problem.routine == Routine::qr && problem.job == BatchJob::factor)) {
            input_.info.assign(static_cast<std::size_t>(count), -7);
        }
    }

    double worst_ratio(const BatchData& result) const override {
        double worst = 0;
        for (Index k = 0; k < count_; ++k) {
            const double ratio = ratio_of(result, k);
            if (!(ratio <= worst)) worst = ratio;
            if (std::isnan(ratio)) return infinite_ratio;
        }
        return worst;
    }

  private:
    bool fails(Index k) const { return k == failing && !input_.info.empty(); }

    Square make_matrix(Noise& noise, Index k) const {
        const int n = problem_.n;
        Square a(n);
        for (double& value : a.values) value = static_cast<double>(static_cast<T>(noise.next()));
        const bool planted = k == failing && problem_.job != BatchJob::solve &&
                             !(problem_.routine == Routine::qr && problem_.job == BatchJob::factor);
        const int pivot = failing_pivot(n);
        if (problem_.routine != Routine::cholesky) {
            for (int i = 0; planted && i < n; ++i) a.at(i, pivot) = 0;
            return a;
        }
        for (int j = 0; j < n; ++j) {
            a.at(j, j) += n;
            for (int i = 0; i < j; ++i) a.at(i, j) = a.at(j, i);
        }
        for (double& value : a.values) value = static_cast<double>(static_cast<T>(value));
        if (planted) a.at(pivot, pivot) = -1;
        return a;
    }

    void factor(Square& a, Index k) {
        if (problem_.routine == Routine::cholesky) return factor_cholesky(a);
        const auto n = static_cast<std::size_t>(problem_.n);
        input_.pivots.resize(static_cast<std::size_t>(count_) * n);
        factor_lu(a, input_.pivots.data() + static_cast<std::size_t>(k) * n);
    }

    static void append(std::vector<unsigned char>& bytes, const Vector& values) {
        for (const double value : values) {
            const T rounded = static_cast<T>(value);
            unsigned char raw[sizeof(T)];
            std::memcpy(raw, &rounded, sizeof(T));
            bytes.insert(bytes.end(), raw, raw + sizeof(T));
        }
    }
    /// Part k of `bytes`, of `size` numbers.
    static Vector numbers(const std::vector<unsigned char>& bytes, Index k, std::size_t size) {
        Vector values(size);
        for (std::size_t i = 0; i < size; ++i) {
            T value;
            std::memcpy(&value, bytes.data() + (static_cast<std::size_t>(k) * size + i) * sizeof(T), sizeof(T));
            values[i] = static_cast<double>(value);
        }
        return values;
    }

    double ratio_of(const BatchData& result, Index k) const {
        const auto n = static_cast<std::size_t>(problem_.n);
        const Square& a = matrices_[static_cast<std::size_t>(k)];
        if (!input_.info.empty()) {
            const Index expected = fails(k) ? failing_pivot(problem_.n) + 1 : 0;
            if (result.info[static_cast<std::size_t>(k)] != expected) return infinite_ratio;
        }
        if (fails(k)) {
            // least squares leave Q^T B there, or a part of it, as LAPACK's gels does
            const bool kept = problem_.job != BatchJob::factor && problem_.routine != Routine::qr;
            const std::size_t bytes = kept ? n * sizeof(T) : 0;
            const std::size_t first = static_cast<std::size_t>(k) * bytes;
            return bytes > 0 && std::memcmp(&result.b[first], &input_.b[first], bytes) != 0 ? infinite_ratio : 0;
        }
        const double scale = static_cast<double>(n) * norm(a.values) * std::numeric_limits<T>::epsilon();
        if (problem_.job == BatchJob::factor) return distance(product(result, k), a.times(w_)) / (scale * norm(w_));
        const Vector x = numbers(result.b, k, n);
        return distance(a.times(x), numbers(input_.b, k, n)) / (scale * norm(x));
    }

    Vector product(const BatchData& result, Index k) const {
        const auto n = static_cast<std::size_t>(problem_.n);
        Square factors(problem_.n);
        factors.values = numbers(result.a, k, n * n);
        if (problem_.routine == Routine::cholesky) return product_of_cholesky(factors, w_);
        if (problem_.routine == Routine::qr) return product_of_qr(factors, numbers(result.tau, k, n), w_);
        return product_of_lu(factors, result.pivots.data() + static_cast<std::size_t>(k) * n, w_);
    }

    static double distance(Vector x, const Vector& y) {
        for (std::size_t i = 0; i < x.size(); ++i) x[i] -= y[i];
        return norm(x);
    }

    const Vector w_;
    std::vector<Square> matrices_;
};

}  // namespace

std::unique_ptr<BatchCheck> BatchCheck::make(const Problem& problem) {
    // blocks of 1024 threads hold up to 256 matrices
    const Index count = problem.n <= 32 ? 600 : 9;
    if (problem.precision == Precision::single) return std::make_unique<TypedCheck<float>>(problem, count);
    return std::make_unique<TypedCheck<double>>(problem, count);
}

}  // namespace basalt::tuner
