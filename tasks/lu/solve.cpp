// Solving with LU factors: permute, forward with L, backward with U, as tasks on blocks of rows.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "basalt/lu.hpp"
#include "kernels/cpu/blas/blas.hpp"
#include "kernels/cpu/blas/serial.hpp"
#include "kernels/cpu/products/gemm.hpp"
#include "kernels/cpu/products/gemv.hpp"
#include "kernels/cpu/rows/row_swap.hpp"
#include "kernels/cpu/triangle/substitution.hpp"
#include "kernels/on_stream.hpp"
#include "tasks/choices/require.hpp"
#include "tasks/lu/solve_steps.hpp"
#include "tasks/lu/state.hpp"
#include "tasks/matrix/inverse_norm.hpp"
#include "tasks/on_gpus/substitution_on_gpus.hpp"

namespace basalt {

namespace {

using detail::ColumnGpus;
using detail::DiagonalInverses;
using detail::few_right_hand_sides;
using detail::gpus_to_solve_on;
using detail::LuState;
using detail::Panel;
using detail::require;
using detail::SubstitutionOnGpus;

/// B -= A X
template <class T>
void subtract_packed_product(View<const T> a, View<const T> x, View<T> b) {
    if (b.cols() == 1) {
        const BlasSerial serial;
        blas::gemv_minus(a, x, b);
        return;
    }
    std::vector<T> packed(static_cast<std::size_t>(packed_size<T>(x.rows(), x.cols())));
    pack_b<T>(x, packed.data());
    gemm_minus(b, a, packed.data());
}

/// B -= A^T X
template <class T>
void subtract_transposed_product(View<const T> a, View<const T> x, View<T> b) {
    const BlasSerial serial;
    if (b.cols() == 1) return blas::gemv_minus<T>(transposed(a), x, b);
    blas::gemm<T>(T{-1}, transposed(a), x, T{1}, b);
}

/// Submits the solution for one tile column of B.
template <class T>
class ColumnSolve {
  public:
    ColumnSolve(LuState<T>& lu, const Matrix<T>& b, Index column)
        : lu_(lu),
          b_(b),
          column_(column),
          width_(b.column(column).cols),
          update_rows_(lu.runtime.tuning().cpu.lu.solve_rows) {}

    void permute() {
        lu_.runtime.submit({.name = "permute", .tile = {static_cast<int>(column_)}}, read(lu_.pivots),
                           readwrite(b_.column(column_)), [lu = &lu_](View<const Index>, View<T> b) {
                               std::vector<T> row(static_cast<std::size_t>(b.cols()));
                               lu->permutation().apply(b, row.data());
                           });
    }

    /// Undoes permute().
    void permute_back() {
        lu_.runtime.submit({.name = "permute back", .tile = {static_cast<int>(column_)}}, read(lu_.pivots),
                           readwrite(b_.column(column_)), [lu = &lu_](View<const Index> pivots, View<T> b) {
                               for (auto p = lu->panels.rbegin(); p != lu->panels.rend(); ++p) {
                                   for (Index i = p->end() - 1; i >= p->first; --i) {
                                       T* const other = &b(p->first + pivots[i], 0);
                                       std::swap_ranges(&b(i, 0), &b(i, 0) + b.cols(), other);
                                   }
                               }
                           });
    }

    void forward(const Panel& panel) {
        solve(panel, Triangle::lower, Diagonal::unit);
        for (Index row = panel.end(); row < b_.rows(); row += update_rows_) {
            update(panel, row, std::min(row + update_rows_, b_.rows()));
        }
    }

    void backward(const Panel& panel) {
        solve(panel, Triangle::upper, Diagonal::stored);
        for (Index row = 0; row < panel.first; row += update_rows_) {
            update(panel, row, std::min(row + update_rows_, panel.first));
        }
    }

    /// U^T X = B, panel by panel: X(k) = U(k, k)^-T B(k), B(i) -= U(k, i)^T X(k)
    void forward_transposed() {
        for (auto k = lu_.panels.begin(); k != lu_.panels.end(); ++k) {
            solve_transposed(*k, Triangle::lower, Diagonal::stored);
            for (auto i = std::next(k); i != lu_.panels.end(); ++i) update_transposed(*k, *i);
        }
    }

    /// L^T X = B, panel by panel: X(k) = L(k, k)^-T B(k), B(i) -= L(k, i)^T X(k)
    void backward_transposed() {
        for (auto k = lu_.panels.rbegin(); k != lu_.panels.rend(); ++k) {
            solve_transposed(*k, Triangle::upper, Diagonal::unit);
            for (auto i = std::next(k); i != lu_.panels.rend(); ++i) update_transposed(*k, *i);
        }
    }

  private:
    Region<T> rows(Index begin, Index end) const { return b_.block(column_, begin, end, 0, width_); }

    void solve_transposed(const Panel& panel, Triangle triangle, Diagonal diagonal) {
        lu_.runtime.submit({.name = "solve", .priority = 1, .tile = tile(panel)},
                           read(lu_.region(panel, panel.first, panel.end())), readwrite(rows(panel.first, panel.end())),
                           [triangle, diagonal](View<const T> t, View<T> b) {
                               cpu_kernels::solve_triangle<T>(triangle, diagonal, transposed(t), b);
                           });
    }

    /// B(i) -= A(k, i)^T X(k), A being what the factors hold there.
    void update_transposed(const Panel& k, const Panel& i) {
        lu_.runtime.submit(
            {.name = "solve update", .tile = tile(k)}, read(lu_.region(i, k.first, k.end())),
            read(rows(k.first, k.end())), readwrite(rows(i.first, i.end())),
            [](View<const T> a, View<const T> x, View<T> b) { subtract_transposed_product<T>(a, x, b); });
    }

    void solve(const Panel& panel, Triangle triangle, Diagonal diagonal) {
        lu_.runtime.submit({.name = "solve", .priority = 1, .tile = tile(panel)},
                           read(lu_.region(panel, panel.first, panel.end())), readwrite(rows(panel.first, panel.end())),
                           [triangle, diagonal](View<const T> t, View<T> b) {
                               cpu_kernels::solve_triangle<T>(triangle, diagonal, t, b);
                           });
    }

    void update(const Panel& panel, Index begin, Index end) {
        lu_.runtime.submit({.name = "solve update", .tile = tile(panel)}, read(lu_.region(panel, begin, end)),
                           read(rows(panel.first, panel.end())), readwrite(rows(begin, end)),
                           [](View<const T> a, View<const T> x, View<T> b) { subtract_packed_product(a, x, b); });
    }

    TileIndex tile(const Panel& panel) const {
        return {static_cast<int>(panel.tile_column), static_cast<int>(column_)};
    }

    LuState<T>& lu_;
    const Matrix<T>& b_;
    const Index column_;
    const Index width_;
    const Index update_rows_;
};

/// An n x k matrix for X, given B behind the columns of A. Few right-hand sides are one tile column.
template <class T>
Matrix<T> augmented_solution(const LuFactors<T>& lu) {
    const TileShape shape = lu.share_state()->grid().shape();
    const Index k = lu.cols() - lu.rows();
    return {lu.share_state()->runtime,
            lu.rows(),
            k,
            {shape.height, std::min(k, std::max(shape.width, few_right_hand_sides))},
            "x"};
}

/// X(:, c) = column c right of the factors' square part, on the GPU that has its tile column.
template <class T>
void take_on_gpu(LuState<T>& lu, const ColumnGpus& gpus, const Matrix<T>& x, Index c) {
    const TileGrid& grid = lu.grid();
    const Index n = grid.rows(), j = grid.tile_col_of(n + c), from = n + c - grid.first_col(j);
    const Index width = x.tile_shape().width, to = c % width;
    lu.runtime.submit({.name = "take b", .place = Place::gpu(gpus[static_cast<std::size_t>(j)])},
                      read(lu.a->template region<T>(j, 0, n, from, from + 1)),
                      write(x.block(c / width, 0, n, to, to + 1)),
                      detail::on_any_device([](Stream stream, View<const T> b, View<T> column) {
                          on_stream::copy_elements<T>(stream, b, column);
                      }));
}

template <class T>
void submit_backward(ColumnSolve<T>& solve, const std::vector<Panel>& panels) {
    for (auto panel = panels.rbegin(); panel != panels.rend(); ++panel) solve.backward(*panel);
}

/// Throws UsageError, naming the call, unless the factors can solve with B. They may be those of a matrix with further
/// columns on its right.
template <class T>
void require_solvable(const std::string& call, const Runtime& runtime, const LuFactors<T>& lu, const Matrix<T>& b) {
    require(lu.rows() <= lu.cols(), call + ": the factored matrix is " + std::to_string(lu.rows()) + " x " +
                                        std::to_string(lu.cols()) + "; allowed are as many columns as rows, or more");
    const auto& state = lu.share_state();
    require(&state->runtime == &runtime && &b.runtime() == &runtime,
            call + ": factors, B and runtime do not belong together");
    require(state->left_interchanges, call + ": the matrix was factored without left_interchanges");
    require(b.rows() == lu.rows(),
            call + ": B has " + std::to_string(b.rows()) + " rows; the factors have " + std::to_string(lu.rows()));
}

}  // namespace

template <class T>
void lu_solve(Runtime& runtime, const LuFactors<T>& lu, Matrix<T>& b) {
    require_solvable("lu_solve", runtime, lu, b);
    const auto& state = lu.share_state();
    if (auto gpus = gpus_to_solve_on(*state->a, b.share_storage()->column_bytes()); !gpus.empty()) {
        detail::lu_permute(lu, b);
        const SubstitutionOnGpus<T> on_gpus(*state->a, std::move(gpus), lu.rows(), b);
        if (state->inverses.lower && b.cols() <= few_right_hand_sides) {
            on_gpus.solve(*state->inverses.lower);
            on_gpus.solve(*state->inverses.upper);
            return;
        }
        on_gpus.solve(Triangle::lower, Diagonal::unit);
        on_gpus.solve(Triangle::upper, Diagonal::stored);
        return;
    }
    for (Index j = 0; j < b.tile_cols(); ++j) {
        ColumnSolve<T> column(*state, b, j);
        column.permute();
        for (const Panel& panel : state->panels) column.forward(panel);
        submit_backward(column, state->panels);
    }
}

template <class T>
void lu_prepare_solves(Runtime& runtime, const LuFactors<T>& lu) {
    const auto& state = lu.share_state();
    require(state != nullptr && &state->runtime == &runtime,
            "lu_prepare_solves: the factors belong to another runtime");
    const auto gpus = gpus_to_solve_on(*state->a, static_cast<std::size_t>(lu.rows()) * sizeof(T));
    if (gpus.empty()) return;
    runtime.submit({.name = "permutation", .place = Place::cpu()}, read(state->pivots),
                   [lu = state.get()](View<const Index>) { lu->permutation(); });
    const auto inverses = [&](Triangle triangle, Diagonal diagonal) {
        return std::make_shared<const DiagonalInverses<T>>(*state->a, gpus, lu.rows(), triangle, diagonal);
    };
    state->inverses = {inverses(Triangle::lower, Diagonal::unit), inverses(Triangle::upper, Diagonal::stored)};
}

template <class T>
void lu_solve_transposed(Runtime& runtime, const LuFactors<T>& lu, Matrix<T>& b) {
    require_solvable("lu_solve_transposed", runtime, lu, b);
    const auto& state = lu.share_state();
    if (auto gpus = gpus_to_solve_on(*state->a, b.share_storage()->column_bytes()); !gpus.empty()) {
        const SubstitutionOnGpus<T> on_gpus(*state->a, std::move(gpus), lu.rows(), b);
        constexpr auto transposed = MatrixOp::transposed;
        if (state->inverses.lower && b.cols() <= few_right_hand_sides) {
            on_gpus.solve(*state->inverses.upper, transposed);
            on_gpus.solve(*state->inverses.lower, transposed);
        } else {
            on_gpus.solve(Triangle::upper, Diagonal::stored, transposed);
            on_gpus.solve(Triangle::lower, Diagonal::unit, transposed);
        }
        for (Index j = 0; j < b.tile_cols(); ++j) ColumnSolve<T>(*state, b, j).permute_back();
        return;
    }
    for (Index j = 0; j < b.tile_cols(); ++j) {
        ColumnSolve<T> column(*state, b, j);
        column.forward_transposed();
        column.backward_transposed();
        column.permute_back();
    }
}

template <class T>
double lu_reciprocal_condition(Runtime& runtime, const LuFactors<T>& lu, double norm, ConditionNorm kind) {
    require(lu.cols() == lu.rows(), "lu_reciprocal_condition: the factored matrix is " + std::to_string(lu.rows()) +
                                        " x " + std::to_string(lu.cols()) + "; allowed are square ones");
    const detail::VectorProduct<T> plain = [&](Matrix<T>& x) { lu_solve(runtime, lu, x); };
    const detail::VectorProduct<T> transposed = [&](Matrix<T>& x) { lu_solve_transposed(runtime, lu, x); };
    // the one norm of A is the infinity norm of A^T
    const bool of_rows = kind == ConditionNorm::infinity;
    return detail::reciprocal_condition_estimate<T>(runtime, lu.rows(), norm, of_rows ? plain : transposed,
                                                    of_rows ? transposed : plain);
}

template <class T>
Matrix<T> lu_solve_augmented(Runtime& runtime, const LuFactors<T>& lu) {
    const Index n = lu.rows(), k = lu.cols() - n;
    const auto& state = lu.share_state();
    require(k > 0, "lu_solve_augmented: the factored matrix is " + std::to_string(n) + " x " +
                       std::to_string(lu.cols()) + "; allowed are ones with more columns than rows");
    require(&state->runtime == &runtime, "lu_solve_augmented: the factors belong to another runtime");
    Matrix<T> x = augmented_solution(lu);
    if (auto gpus = gpus_to_solve_on(*state->a, x.share_storage()->column_bytes()); !gpus.empty()) {
        for (Index c = 0; c < k; ++c) take_on_gpu(*state, gpus, x, c);
        const SubstitutionOnGpus<T> on_gpus(*state->a, std::move(gpus), n, x);
        if (state->inverses.upper && k <= few_right_hand_sides) {
            on_gpus.solve(*state->inverses.upper);
        } else {
            on_gpus.solve(Triangle::upper, Diagonal::stored);
        }
        return x;
    }
    // X starts with U(:, n:), which the factorization has made of B
    const TileGrid& grid = state->grid();
    for (Index c = 0; c < k; ++c) {
        const Index j = grid.tile_col_of(n + c);
        const Index from = n + c - grid.first_col(j);
        const Index to = c % x.tile_shape().width;
        runtime.submit({.name = "take b"}, read(state->a->template region<T>(j, 0, n, from, from + 1)),
                       write(x.block(c / x.tile_shape().width, 0, n, to, to + 1)), [](View<const T> b, View<T> column) {
                           for (Index i = 0; i < b.rows(); ++i) column[i] = b[i];
                       });
    }
    for (Index j = 0; j < x.tile_cols(); ++j) {
        ColumnSolve<T> column(*state, x, j);
        submit_backward(column, state->panels);
    }
    return x;
}

template <class T>
void detail::lu_permute(const LuFactors<T>& lu, const Matrix<T>& b) {
    for (Index j = 0; j < b.tile_cols(); ++j) ColumnSolve<T>(*lu.share_state(), b, j).permute();
}

template <class T>
Matrix<T> detail::lu_take_augmented(const LuFactors<T>& lu, const ColumnGpus& gpus) {
    Matrix<T> x = augmented_solution(lu);
    for (Index c = 0; c < x.cols(); ++c) take_on_gpu(*lu.share_state(), gpus, x, c);
    return x;
}

template <class T>
Index solve(Runtime& runtime, Index n, Index nrhs, T* a, Index lda, Index* ipiv, T* b, Index ldb) {
    require(n >= 0, "solve: n = " + std::to_string(n) + "; allowed is at least 0");
    require(nrhs >= 0, "solve: nrhs = " + std::to_string(nrhs) + "; allowed is at least 0");
    const Index least = std::max<Index>(1, n);
    require(lda >= least, "solve: lda = " + std::to_string(lda) + "; allowed is at least " + std::to_string(least));
    require(ldb >= least, "solve: ldb = " + std::to_string(ldb) + "; allowed is at least " + std::to_string(least));
    require(a != nullptr || n == 0, "solve: the matrix is missing (null)");
    require(b != nullptr || n == 0 || nrhs == 0, "solve: the right-hand sides are missing (null)");

    const LuMode mode = choose_lu_mode(runtime, {}, {.m = n, .n = n, .precision = sizeof(T) == 4 ? 's' : 'd'}).mode;
    const bool on_cores = mode == LuMode::cpu;
    const TileShape usual = default_lu_tile(runtime.tuning(), n, n, on_cores ? 0 : runtime.gpus());
    Matrix<T> matrix(runtime, n, n, on_cores ? usual : fitting_tile(runtime, usual, n, n, sizeof(T)), "A");
    const Place converted_on = on_cores ? Place::cpu() : Place::any();
    matrix.load(View<const T>::column_major(a, n, n, lda), converted_on);
    const LuFactors<T> lu = lu_factor(runtime, matrix, {.mode = mode});
    const TileShape tile{matrix.tile_shape().height, std::clamp<Index>(nrhs, 1, matrix.tile_shape().width)};
    Matrix<T> x(runtime, n, nrhs, tile, "B");
    x.load(View<const T>::column_major(b, n, nrhs, ldb));
    lu_solve(runtime, lu, x);
    matrix.store(View<T>::column_major(a, n, n, lda), converted_on);
    runtime.wait();

    const Index info = lu.info();
    if (ipiv != nullptr) {
        const std::vector<Index> pivots = lu.pivots();
        std::copy(pivots.begin(), pivots.end(), ipiv);
    }
    if (info == 0) {
        x.store(View<T>::column_major(b, n, nrhs, ldb));
        runtime.wait();
    }
    return info;
}

template void lu_solve(Runtime&, const LuFactors<float>&, Matrix<float>&);
template void lu_solve(Runtime&, const LuFactors<double>&, Matrix<double>&);
template void lu_prepare_solves(Runtime&, const LuFactors<float>&);
template void lu_prepare_solves(Runtime&, const LuFactors<double>&);
template void lu_solve_transposed(Runtime&, const LuFactors<float>&, Matrix<float>&);
template void lu_solve_transposed(Runtime&, const LuFactors<double>&, Matrix<double>&);
template double lu_reciprocal_condition(Runtime&, const LuFactors<float>&, double, ConditionNorm);
template double lu_reciprocal_condition(Runtime&, const LuFactors<double>&, double, ConditionNorm);
template Matrix<float> lu_solve_augmented(Runtime&, const LuFactors<float>&);
template Matrix<double> lu_solve_augmented(Runtime&, const LuFactors<double>&);
template void detail::lu_permute(const LuFactors<float>&, const Matrix<float>&);
template Matrix<float> detail::lu_take_augmented(const LuFactors<float>&, const ColumnGpus&);
template Index solve(Runtime&, Index, Index, float*, Index, Index*, float*, Index);
template Index solve(Runtime&, Index, Index, double*, Index, Index*, double*, Index);

}  // namespace basalt
