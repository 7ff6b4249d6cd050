// Solving with a Cholesky factor: forward and backward, as tasks on blocks of rows; and the calls on the user's arrays.
#include <algorithm>
#include <string>
#include <utility>

#include "basalt/cholesky.hpp"
#include "kernels/cpu/blas/blas.hpp"
#include "kernels/cpu/blas/serial.hpp"
#include "kernels/cpu/products/gemv.hpp"
#include "kernels/cpu/triangle/substitution.hpp"
#include "tasks/choices/require.hpp"
#include "tasks/cholesky/state.hpp"
#include "tasks/matrix/inverse_norm.hpp"
#include "tasks/on_gpus/substitution_on_gpus.hpp"

namespace basalt {

namespace {

using detail::CholeskyState;
using detail::Panel;
using detail::require;

/// B -= A X
template <class T>
void subtract_blas_product(View<const T> a, View<const T> x, View<T> b) {
    const BlasSerial serial;
    if (b.cols() == 1) return blas::gemv_minus<T>(a, x, b);
    blas::gemm<T>(T{-1}, a, x, T{1}, b);
}

/// Submits the solution for one tile column of B. L(i, k) stands for U(k, i)^T where the upper triangle was factored.
template <class T>
class CholeskyColumnSolve {
  public:
    CholeskyColumnSolve(CholeskyState<T>& factor, const Matrix<T>& b, Index column)
        : s_(factor),
          b_(b),
          column_(column),
          width_(b.column(column).cols),
          lower_(factor.triangle == Triangle::lower) {}

    void submit() {
        const auto steps = std::ssize(s_.panels);
        for (Index k = 0; k < steps; ++k) {  // L Y = B
            solve(panel(k), Way::forward);
            for (Index i = k + 1; i < steps; ++i) update(panel(k), panel(i), Way::forward);
        }
        for (Index k = steps - 1; k >= 0; --k) {  // L^T X = Y
            solve(panel(k), Way::back);
            for (Index i = 0; i < k; ++i) update(panel(k), panel(i), Way::back);
        }
    }

  private:
    enum class Way { forward, back };

    const Panel& panel(Index k) const { return s_.panels[static_cast<std::size_t>(k)]; }
    Region<T> rows(const Panel& p) const { return b_.block(column_, p.first, p.end(), 0, width_); }

    /// X(k) = L(k, k)^-1 B(k), or with the transpose.
    void solve(const Panel& p, Way way) {
        // the stored triangle is L or U = L^T
        const bool back = way == Way::back, flip = lower_ == back;
        const Triangle seen = back ? Triangle::upper : Triangle::lower;
        s_.runtime.submit({.name = "solve", .priority = 1, .tile = tile(p), .place = Place::cpu()},
                          read(s_.block(p, p)), readwrite(rows(p)), [flip, seen](View<const T> t, View<T> b) {
                              cpu_kernels::solve_triangle<T>(seen, Diagonal::stored, flip ? transposed(t) : t, b);
                          });
    }

    /// B(i) -= L(i, k) X(k), or L(k, i)^T X(k) on the way back.
    void update(const Panel& k, const Panel& i, Way way) {
        const bool flip = lower_ == (way == Way::back);
        const auto factor = flip ? s_.block(k, i) : s_.block(i, k);
        s_.runtime.submit({.name = "solve update", .tile = tile(k), .place = Place::cpu()}, read(factor), read(rows(k)),
                          readwrite(rows(i)), [flip](View<const T> l, View<const T> x, View<T> b) {
                              subtract_blas_product<T>(flip ? transposed(l) : l, x, b);
                          });
    }

    TileIndex tile(const Panel& p) const { return {static_cast<int>(p.tile_column), static_cast<int>(column_)}; }

    CholeskyState<T>& s_;
    const Matrix<T>& b_;
    const Index column_;
    const Index width_;
    const bool lower_;
};

void require_array(const char* call, const char* name, Index least, Index ld, const void* array, bool empty) {
    require(ld >= std::max<Index>(1, least), std::string(call) + ": ld" + name + " = " + std::to_string(ld) +
                                                 "; allowed is at least " + std::to_string(std::max<Index>(1, least)));
    require(array != nullptr || empty, std::string(call) + ": the array " + name + " is missing (null)");
}

/// A factored copy of the user's triangle in tiles. The upper triangle of a column-major array is the lower one of the
/// row-major array with the same elements, so that no element is transposed.
template <class T>
class FactoredArray {
  public:
    FactoredArray(Runtime& runtime, Triangle triangle, Index n, T* a, Index lda)
        : array_(triangle == Triangle::lower ? View<T>::column_major(a, n, n, lda) : View<T>::row_major(a, n, n, lda)),
          mode_(choose_cholesky_mode(runtime, {}, {.m = n, .n = n, .precision = sizeof(T) == 4 ? 's' : 'd'}).mode),
          converted_on_(mode_ == FactorMode::cpu ? Place::cpu() : Place::any()),
          matrix_(runtime, n, n, tile_for(runtime, n, mode_), "A") {
        matrix_.set_deal(Deal::cyclic);
        matrix_.load_triangle(Triangle::lower, array_, converted_on_);
        CholeskyOptions options;
        options.mode = mode_;
        options.keep_other_side = false;
        factors_ = cholesky_factor(runtime, matrix_, Triangle::lower, options);
    }

    const CholeskyFactors<T>& factors() const { return factors_; }
    const Matrix<T>& matrix() const { return matrix_; }
    void store() { matrix_.store_triangle(Triangle::lower, array_, converted_on_); }

  private:
    static TileShape tile_for(Runtime& runtime, Index n, FactorMode mode) {
        if (mode == FactorMode::cpu) return default_cholesky_tile(runtime.tuning(), n);
        return fitting_tile(runtime, default_cholesky_tile(runtime.tuning(), n, runtime.gpus()), n, n, sizeof(T));
    }

    View<T> array_;
    const FactorMode mode_;
    const Place converted_on_;
    Matrix<T> matrix_;
    CholeskyFactors<T> factors_;
};

}  // namespace

template <class T>
void cholesky_solve(Runtime& runtime, const CholeskyFactors<T>& cholesky, Matrix<T>& b) {
    const Index n = cholesky.rows();
    const auto& state = cholesky.share_state();
    require(&state->runtime == &runtime && &b.runtime() == &runtime,
            "cholesky_solve: factor, B and runtime do not belong together");
    require(b.rows() == n,
            "cholesky_solve: B has " + std::to_string(b.rows()) + " rows; the factor has " + std::to_string(n));
    if (auto gpus = detail::gpus_to_solve_on(*state->a, b.share_storage()->column_bytes()); !gpus.empty()) {
        const detail::SubstitutionOnGpus<T> on_gpus(*state->a, std::move(gpus), n, b);
        const bool lower = state->triangle == Triangle::lower;
        const MatrixOp forward = lower ? MatrixOp::plain : MatrixOp::transposed;
        const MatrixOp backward = lower ? MatrixOp::transposed : MatrixOp::plain;
        for (const MatrixOp op : {forward, backward}) {  // L Y = B, L^T X = Y
            if (state->inverses && b.cols() <= detail::few_right_hand_sides) {
                on_gpus.solve(*state->inverses, op);
            } else {
                on_gpus.solve(state->triangle, Diagonal::stored, op);
            }
        }
        return;
    }
    for (Index j = 0; j < b.tile_cols(); ++j) CholeskyColumnSolve<T>(*state, b, j).submit();
}

template <class T>
void cholesky_prepare_solves(Runtime& runtime, const CholeskyFactors<T>& cholesky) {
    const auto& state = cholesky.share_state();
    require(state != nullptr && &state->runtime == &runtime,
            "cholesky_prepare_solves: the factor belongs to another runtime");
    const Index n = cholesky.rows();
    const auto gpus = detail::gpus_to_solve_on(*state->a, static_cast<std::size_t>(n) * sizeof(T));
    if (gpus.empty()) return;
    state->inverses =
        std::make_shared<const detail::DiagonalInverses<T>>(*state->a, gpus, n, state->triangle, Diagonal::stored);
}

template <class T>
double cholesky_reciprocal_condition(Runtime& runtime, const CholeskyFactors<T>& cholesky, double norm) {
    const auto solve = [&](Matrix<T>& x) { cholesky_solve(runtime, cholesky, x); };
    return detail::reciprocal_condition_estimate<T>(runtime, cholesky.rows(), norm, solve, solve);
}

template <class T>
Index cholesky_factor(Runtime& runtime, Triangle triangle, Index n, T* a, Index lda) {
    require(n >= 0, "cholesky_factor: n = " + std::to_string(n) + "; allowed is at least 0");
    require_array("cholesky_factor", "a", n, lda, a, n == 0);
    FactoredArray<T> factored(runtime, triangle, n, a, lda);
    factored.store();
    runtime.wait();
    return factored.factors().info();
}

template <class T>
Index cholesky_solve(Runtime& runtime, Triangle triangle, Index n, Index nrhs, T* a, Index lda, T* b, Index ldb) {
    require(n >= 0, "cholesky_solve: n = " + std::to_string(n) + "; allowed is at least 0");
    require(nrhs >= 0, "cholesky_solve: nrhs = " + std::to_string(nrhs) + "; allowed is at least 0");
    require_array("cholesky_solve", "a", n, lda, a, n == 0);
    require_array("cholesky_solve", "b", n, ldb, b, n == 0 || nrhs == 0);
    FactoredArray<T> factored(runtime, triangle, n, a, lda);
    const TileShape shape = factored.matrix().tile_shape();
    Matrix<T> x(runtime, n, nrhs, {shape.height, std::clamp<Index>(nrhs, 1, shape.width)}, "B");
    x.load(View<const T>::column_major(b, n, nrhs, ldb));
    cholesky_solve(runtime, factored.factors(), x);
    factored.store();
    runtime.wait();
    const Index info = factored.factors().info();
    if (info == 0) {
        x.store(View<T>::column_major(b, n, nrhs, ldb));
        runtime.wait();
    }
    return info;
}

template void cholesky_solve(Runtime&, const CholeskyFactors<float>&, Matrix<float>&);
template void cholesky_solve(Runtime&, const CholeskyFactors<double>&, Matrix<double>&);
template void cholesky_prepare_solves(Runtime&, const CholeskyFactors<float>&);
template void cholesky_prepare_solves(Runtime&, const CholeskyFactors<double>&);
template double cholesky_reciprocal_condition(Runtime&, const CholeskyFactors<float>&, double);
template double cholesky_reciprocal_condition(Runtime&, const CholeskyFactors<double>&, double);
template Index cholesky_factor(Runtime&, Triangle, Index, float*, Index);
template Index cholesky_factor(Runtime&, Triangle, Index, double*, Index);
template Index cholesky_solve(Runtime&, Triangle, Index, Index, float*, Index, float*, Index);
template Index cholesky_solve(Runtime&, Triangle, Index, Index, double*, Index, double*, Index);

}  // namespace basalt
