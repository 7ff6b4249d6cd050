// QR on column-major arrays of the user's own.
#include <algorithm>
#include <string>

#include "basalt/qr.hpp"
#include "tasks/qr/copy_plan.hpp"

namespace basalt {

namespace {

using detail::QrCopyPlan;

/// The checks of arguments that LAPACK's routines make first.
class Arguments {
  public:
    explicit Arguments(const char* what) : what_(what) {}

    const Arguments& size(const char* name, Index value, Index least = 0, Index most = Index{1} << 62) const {
        return check(least <= value && value <= most,
                     std::string(name) + " = " + std::to_string(value) + "; allowed is " +
                         (most < Index{1} << 62 ? std::to_string(least) + " to " + std::to_string(most)
                                                : "at least " + std::to_string(least)));
    }
    const Arguments& array(const char* name, const void* data, bool needed) const {
        return check(data != nullptr || !needed, std::string(name) + " is missing (null)");
    }

  private:
    const Arguments& check(bool condition, const std::string& message) const {
        if (!condition) throw UsageError(std::string(what_) + ": " + message);
        return *this;
    }
    const char* what_;
};

Index at_least_one(Index value) { return std::max<Index>(1, value); }

/// A matrix for right-hand sides or for C.
template <class T>
Matrix<T> matrix_of(Runtime& runtime, Index m, Index n, const char* name) {
    const TileShape usual = default_qr_tile(runtime.tuning(), m, n);
    constexpr Index widest = 256;
    return Matrix<T>(runtime, m, n, {usual.height, std::clamp<Index>(n, 1, widest)}, name);
}

/// As high and at most as wide tiles as the factors have.
template <class T>
Matrix<T> matrix_for_gpus(Runtime& runtime, View<T> c, TileShape tile) {
    return Matrix<T>(runtime, c.rows(), c.cols(), {tile.height, std::clamp<Index>(c.cols(), 1, tile.width)}, "C");
}

QrOp opposite(QrOp op) { return op == QrOp::plain ? QrOp::transposed : QrOp::plain; }

template <class T>
bool all_zero(View<const T> a) {
    for (Index j = 0; j < a.cols(); ++j) {
        for (Index i = 0; i < a.rows(); ++i) {
            if (a(i, j) != T{0}) return false;
        }
    }
    return true;
}

/// A^T as a matrix of its own.
template <class T>
View<const T> transposed_array(const T* a, Index m, Index n, Index lda) {
    return View<const T>(a, n, m, lda, 1);
}

}  // namespace

template <class T>
void qr_factor(Runtime& runtime, Index m, Index n, T* a, Index lda, T* tau, const QrOptions& options) {
    const bool some = m > 0 && n > 0;
    Arguments("qr_factor")
        .size("m", m)
        .size("n", n)
        .size("lda", lda, at_least_one(m))
        .array("the matrix", a, some)
        .array("tau", tau, some);
    if (options.method != QrMethod::blocked) {
        throw UsageError(
            "qr_factor: method = tile or automatic for an array and tau; allowed is blocked, LAPACK's form");
    }
    const QrCopyPlan<T> plan(runtime, options, m, n);
    Matrix<T> matrix(runtime, m, n, plan.tile, "A");
    const auto array = View<T>::column_major(a, m, n, lda);
    matrix.load(array, plan.place);
    const auto qr = qr_factor(runtime, matrix, plan.options);
    matrix.store(array, plan.place);
    runtime.wait();
    const std::vector<T> numbers = qr.tau();
    std::copy(numbers.begin(), numbers.end(), tau);
}

template <class T>
void qr_apply(Runtime& runtime, QrSide side, QrOp op, Index m, Index n, Index k, const T* a, Index lda, const T* tau,
              T* c, Index ldc) {
    const Index order = side == QrSide::left ? m : n;
    const Arguments arguments("qr_apply");
    arguments.size("m", m)
        .size("n", n)
        .size("k", k, 0, order)
        .size("lda", lda, at_least_one(order))
        .size("ldc", ldc, at_least_one(m));
    arguments.array("A", a, order > 0 && k > 0).array("tau", tau, k > 0).array("C", c, m > 0 && n > 0);
    const QrCopyPlan<T> plan(runtime, {}, order, k);
    Matrix<T> factors(runtime, order, k, plan.tile, "A");
    factors.load(View<const T>::column_major(a, order, k, lda), plan.place);
    // GPUs multiply from the left alone: C Q = (Q^T C^T)^T
    const bool on_gpus = plan.options.mode != QrMode::cpu, turns = on_gpus && side == QrSide::right;
    const auto given = View<T>::column_major(c, m, n, ldc), array = turns ? transposed(given) : given;
    Matrix<T> matrix = on_gpus ? matrix_for_gpus(runtime, array, plan.tile) : matrix_of<T>(runtime, m, n, "C");
    const Place place = turns ? Place::cpu() : plan.place;
    matrix.load(array, place);
    const auto qr = qr_adopt(runtime, factors, tau);
    qr_apply(runtime, qr, turns ? QrSide::left : side, turns ? opposite(op) : op, matrix);
    matrix.store(array, place);
    runtime.wait();
}

template <class T>
void qr_form(Runtime& runtime, Index m, Index n, Index k, T* a, Index lda, const T* tau) {
    const Arguments arguments("qr_form");
    arguments.size("m", m).size("n", n, 0, m).size("k", k, 0, n).size("lda", lda, at_least_one(m));
    arguments.array("A", a, m > 0 && n > 0).array("tau", tau, k > 0);
    const QrCopyPlan<T> plan(runtime, {}, m, k);
    Matrix<T> factors(runtime, m, k, plan.tile, "A");
    factors.load(View<const T>::column_major(a, m, k, lda), plan.place);
    const auto qr = qr_adopt(runtime, factors, tau);
    const Matrix<T> q = qr_form(runtime, qr, n);
    q.store(View<T>::column_major(a, m, n, lda), plan.place);
    runtime.wait();
}

template <class T>
Index least_squares(Runtime& runtime, Index m, Index n, Index nrhs, T* a, Index lda, T* b, Index ldb,
                    const QrOptions& options) {
    const Arguments arguments("least_squares");
    arguments.size("m", m)
        .size("n", n)
        .size("nrhs", nrhs)
        .size("lda", lda, at_least_one(m))
        .size("ldb", ldb, at_least_one(std::max(m, n)));
    arguments.array("the matrix", a, m > 0 && n > 0).array("the right-hand sides", b, std::max(m, n) > 0 && nrhs > 0);
    const bool tall = m >= n;
    const Index rows = std::max(m, n), cols = std::min(m, n);
    const QrCopyPlan<T> plan(runtime, options, rows, cols);
    const Place place = tall ? plan.place : Place::cpu();
    Matrix<T> matrix(runtime, rows, cols, plan.tile, "A");
    // with fewer equations than unknowns, the factors of A^T are used
    matrix.load(tall ? View<const T>::column_major(a, m, n, lda) : transposed_array(a, m, n, lda), place);
    const auto qr = qr_factor(runtime, matrix, plan.options);
    Matrix<T> x = matrix_of<T>(runtime, rows, nrhs, "B");
    const auto right_hand_sides = View<T>::column_major(b, rows, nrhs, ldb);
    x.load(right_hand_sides);
    if (tall) {
        qr_solve(runtime, qr, x);
    } else {
        qr_solve_transposed(runtime, qr, x);
    }
    matrix.store(tall ? View<T>::column_major(a, m, n, lda) : View<T>(a, n, m, lda, 1), place);
    runtime.wait();
    if (all_zero(View<const T>::column_major(a, m, n, lda))) {  // so was A, which LAPACK does not report as deficient
        for (Index j = 0; j < nrhs; ++j) std::fill_n(b + j * ldb, rows, T{0});
        return 0;
    }
    const Index info = qr.info();
    if (info == 0) {
        x.store(right_hand_sides);
        runtime.wait();
    }
    return info;
}

template void qr_factor(Runtime&, Index, Index, float*, Index, float*, const QrOptions&);
template void qr_factor(Runtime&, Index, Index, double*, Index, double*, const QrOptions&);
template void qr_apply(Runtime&, QrSide, QrOp, Index, Index, Index, const float*, Index, const float*, float*, Index);
template void qr_apply(Runtime&, QrSide, QrOp, Index, Index, Index, const double*, Index, const double*, double*,
                       Index);
template void qr_form(Runtime&, Index, Index, Index, float*, Index, const float*);
template void qr_form(Runtime&, Index, Index, Index, double*, Index, const double*);
template Index least_squares(Runtime&, Index, Index, Index, float*, Index, float*, Index, const QrOptions&);
template Index least_squares(Runtime&, Index, Index, Index, double*, Index, double*, Index, const QrOptions&);

}  // namespace basalt
