// Least squares with QR factors: Q by reflections, R by substitution, as tasks on blocks of rows.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "basalt/qr.hpp"
#include "basalt/tuning.hpp"
#include "kernels/cpu/blas/blas.hpp"
#include "kernels/cpu/blas/serial.hpp"
#include "kernels/cpu/triangle/substitution.hpp"
#include "tasks/matrix/inverse_norm.hpp"
#include "tasks/on_gpus/substitution_on_gpus.hpp"
#include "tasks/qr/state.hpp"

namespace basalt {

namespace {

using detail::Panel;
using detail::QrState;

/// Substitution with the square R of m x n factors, m >= n, for one tile column of B.
template <class T>
class ColumnSubstitution {
  public:
    ColumnSubstitution(QrState<T>& qr, const Matrix<T>& b, Index column)
        : qr_(qr),
          b_(b),
          column_(column),
          width_(b.column(column).cols),
          rows_a_task_(qr.runtime.tuning().cpu.qr.solve_rows) {}

    /// R X = B
    void backward() {
        for (auto p = qr_.panels.rbegin(); p != qr_.panels.rend(); ++p) {
            solve(*p, Reflected::no);
            for (Index row = 0; row < p->first; row += rows_a_task_) {
                const Index end = std::min(row + rows_a_task_, p->first);
                qr_.runtime.submit({.name = "solve update", .place = Place::cpu()}, read(qr_.region(*p, row, end)),
                                   read(rows(p->first, p->end())), readwrite(rows(row, end)),
                                   [](View<const T> r, View<const T> x, View<T> b) {
                                       const BlasSerial serial;
                                       blas::gemm<T>(T{-1}, r, x, T{1}, b);
                                   });
            }
        }
    }

    /// R^T X = B
    void forward() {
        for (const Panel& p : qr_.panels) {
            for (Index row = 0; row < p.first; row += rows_a_task_) {
                const Index end = std::min(row + rows_a_task_, p.first);
                qr_.runtime.submit({.name = "solve update", .place = Place::cpu()}, read(qr_.region(p, row, end)),
                                   read(rows(row, end)), readwrite(rows(p.first, p.end())),
                                   [](View<const T> r, View<const T> x, View<T> b) {
                                       const BlasSerial serial;
                                       blas::gemm<T>(T{-1}, transposed(r), x, T{1}, b);
                                   });
            }
            solve(p, Reflected::yes);
        }
    }

    /// B(n:m) = 0
    void clear_below() {
        if (qr_.grid().cols() == qr_.grid().rows()) return;
        qr_.runtime.submit({.name = "clear", .place = Place::cpu()}, write(rows(qr_.grid().cols(), qr_.grid().rows())),
                           [](View<T> b) {
                               for (Index i = 0; i < b.rows(); ++i) std::fill_n(&b(i, 0), b.cols(), T{0});
                           });
    }

  private:
    enum class Reflected { no, yes };

    Region<T> rows(Index begin, Index end) const { return b_.block(column_, begin, end, 0, width_); }

    void solve(const Panel& p, Reflected reflected) {
        qr_.runtime.submit({.name = "solve", .priority = 1, .place = Place::cpu()},
                           read(qr_.region(p, p.first, p.end())), readwrite(rows(p.first, p.end())),
                           [reflected](View<const T> r, View<T> b) {
                               const bool lower = reflected == Reflected::yes;
                               cpu_kernels::solve_triangle<T>(lower ? Triangle::lower : Triangle::upper,
                                                              Diagonal::stored, lower ? transposed(r) : r, b);
                           });
    }

    QrState<T>& qr_;
    const Matrix<T>& b_;
    const Index column_;
    const Index width_;
    const Index rows_a_task_;
};

/// ||R||_oo
template <class T>
double norm_of_r(QrState<T>& qr) {
    std::vector<std::vector<double>> sums(qr.panels.size());  // of magnitudes in each row, by panel
    for (std::size_t k = 0; k < qr.panels.size(); ++k) {
        const Panel& p = qr.panels[k];
        qr.runtime.submit({.name = "norm", .place = Place::cpu()}, read(qr.region(p, 0, p.end())),
                          [first = p.first, mine = &sums[k]](View<const T> r) {
                              mine->assign(static_cast<std::size_t>(r.rows()), 0.0);
                              for (Index i = 0; i < r.rows(); ++i) {
                                  double sum = 0;
                                  for (Index j = std::max<Index>(0, i - first); j < r.cols(); ++j)
                                      sum += std::abs(static_cast<double>(r(i, j)));
                                  (*mine)[static_cast<std::size_t>(i)] = sum;
                              }
                          });
    }
    qr.runtime.wait();
    std::vector<double> rows(static_cast<std::size_t>(qr.grid().cols()), 0.0);
    for (const std::vector<double>& part : sums) {
        for (std::size_t i = 0; i < part.size(); ++i) rows[i] += part[i];
    }
    double largest = 0;
    for (const double row : rows) {
        if (!(row <= largest)) largest = row;  // also where it is NaN
    }
    return largest;
}

template <class T>
QrState<T>& state_for(const char* what, Runtime& runtime, const QrFactors<T>& qr, const Matrix<T>& b) {
    const auto require = [what](bool condition, const std::string& message) {
        if (!condition) throw UsageError(std::string(what) + ": " + message);
    };
    require(qr.rows() >= qr.cols(), "the factored matrix is " + std::to_string(qr.rows()) + " x " +
                                        std::to_string(qr.cols()) +
                                        "; allowed are ones with at least as many rows as columns");
    require(b.rows() == qr.rows(),
            "B has " + std::to_string(b.rows()) + " rows; the factors have " + std::to_string(qr.rows()));
    QrState<T>& state = *qr.share_state();
    require(&state.runtime == &runtime && &b.runtime() == &runtime, "factors, B and runtime do not belong together");
    return state;
}

}  // namespace

template <class T>
void qr_solve(Runtime& runtime, const QrFactors<T>& qr, Matrix<T>& b) {
    QrState<T>& state = state_for("qr_solve", runtime, qr, b);
    qr_apply(runtime, qr, QrSide::left, QrOp::transposed, b);
    if (auto gpus = detail::gpus_to_solve_on(*state.a, b.share_storage()->column_bytes()); !gpus.empty()) {
        const detail::SubstitutionOnGpus<T> on_gpus(*state.a, std::move(gpus), qr.cols(), b);
        return on_gpus.solve(Triangle::upper, Diagonal::stored);
    }
    for (Index j = 0; j < b.tile_cols(); ++j) ColumnSubstitution<T>(state, b, j).backward();
}

template <class T>
void qr_solve_transposed(Runtime& runtime, const QrFactors<T>& qr, Matrix<T>& b) {
    QrState<T>& state = state_for("qr_solve_transposed", runtime, qr, b);
    auto gpus = detail::gpus_to_solve_on(*state.a, b.share_storage()->column_bytes());
    for (Index j = 0; j < b.tile_cols(); ++j) {
        ColumnSubstitution<T> column(state, b, j);
        column.clear_below();
        if (gpus.empty()) column.forward();
    }
    if (!gpus.empty()) {
        const detail::SubstitutionOnGpus<T> on_gpus(*state.a, std::move(gpus), qr.cols(), b);
        on_gpus.solve(Triangle::upper, Diagonal::stored, MatrixOp::transposed);
    }
    qr_apply(runtime, qr, QrSide::left, QrOp::plain, b);
}

template <class T>
double qr_reciprocal_condition(Runtime& runtime, const QrFactors<T>& qr) {
    if (qr.rows() < qr.cols()) {
        throw UsageError("qr_reciprocal_condition: the factored matrix is " + std::to_string(qr.rows()) + " x " +
                         std::to_string(qr.cols()) + "; allowed are ones with at least as many rows as columns");
    }
    QrState<T>& state = *qr.share_state();
    if (&state.runtime != &runtime)
        throw UsageError("qr_reciprocal_condition: factors and runtime do not belong together");
    const auto solve = [&](Matrix<T>& x) { ColumnSubstitution<T>(state, x, 0).backward(); };
    const auto solve_transposed = [&](Matrix<T>& x) { ColumnSubstitution<T>(state, x, 0).forward(); };
    return detail::reciprocal_condition_estimate<T>(runtime, qr.cols(), norm_of_r(state), solve, solve_transposed);
}

template void qr_solve(Runtime&, const QrFactors<float>&, Matrix<float>&);
template void qr_solve(Runtime&, const QrFactors<double>&, Matrix<double>&);
template void qr_solve_transposed(Runtime&, const QrFactors<float>&, Matrix<float>&);
template void qr_solve_transposed(Runtime&, const QrFactors<double>&, Matrix<double>&);
template double qr_reciprocal_condition(Runtime&, const QrFactors<float>&);
template double qr_reciprocal_condition(Runtime&, const QrFactors<double>&);

}  // namespace basalt
