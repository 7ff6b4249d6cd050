// Solving with LU factors: permute, forward with L, backward with U, as tasks on blocks of rows.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "basalt/lu.hpp"
#include "kernels/cpu/blas.hpp"
#include "kernels/cpu/blas_serial.hpp"
#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/gemv.hpp"
#include "kernels/cpu/row_swap.hpp"
#include "kernels/on_stream.hpp"
#include "runtime/engine.hpp"
#include "tasks/lu_state.hpp"
#include "tasks/substitution_on_gpus.hpp"

namespace basalt {

namespace {

using detail::ColumnGpus;
using detail::gpus_to_solve_on;
using detail::LuState;
using detail::Panel;
using detail::SubstitutionOnGpus;

/// B -= A X
template <class T>
void subtract_product(View<const T> a, View<const T> x, View<T> b) {
    if (b.cols() == 1) {
        const BlasSerial serial;
        blas::gemv_minus(a, x, b);
        return;
    }
    std::vector<T> packed(static_cast<std::size_t>(packed_size<T>(x.rows(), x.cols())));
    pack_b<T>(x, packed.data());
    gemm_minus(b, a, packed.data());
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
        lu_.runtime.submit({.name = "permute", .tile = {static_cast<int>(column_), -1, -1}}, read(lu_.pivots),
                           readwrite(b_.column(column_)), [lu = &lu_](View<const Index> pivots, View<T> b) {
                               std::vector<Interchanges> lists;
                               for (const Panel& p : lu->panels)
                                   lists.push_back({p.first, pivots.data() + p.first, p.width});
                               std::vector<T> row(static_cast<std::size_t>(b.cols()));
                               RowPermutation(b.rows(), lists).apply(b, row.data());
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

  private:
    Region<T> rows(Index begin, Index end) const { return b_.block(column_, begin, end, 0, width_); }

    void solve(const Panel& panel, Triangle triangle, Diagonal diagonal) {
        lu_.runtime.submit({.name = "solve", .priority = 1, .tile = tile(panel)},
                           read(lu_.region(panel, panel.first, panel.end())), readwrite(rows(panel.first, panel.end())),
                           [triangle, diagonal](View<const T> t, View<T> b) {
                               const BlasSerial serial;
                               blas::trsm(Side::left, triangle, diagonal, T{1}, t, b);
                           });
    }

    void update(const Panel& panel, Index begin, Index end) {
        lu_.runtime.submit({.name = "solve update", .tile = tile(panel)}, read(lu_.region(panel, begin, end)),
                           read(rows(panel.first, panel.end())), readwrite(rows(begin, end)),
                           [](View<const T> a, View<const T> x, View<T> b) { subtract_product(a, x, b); });
    }

    std::array<int, 3> tile(const Panel& panel) const {
        return {static_cast<int>(panel.tile_column), static_cast<int>(column_), -1};
    }

    LuState<T>& lu_;
    const Matrix<T>& b_;
    const Index column_;
    const Index width_;
    const Index update_rows_;
};

void require(bool condition, const std::string& message) {
    if (!condition) throw UsageError(message);
}

/// X(:, c) = column c behind the factors' square part, where its tile column is: on a GPU.
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

}  // namespace

template <class T>
void lu_solve(Runtime& runtime, const LuFactors<T>& lu, Matrix<T>& b) {
    require(lu.rows() == lu.cols(), "lu_solve: the factored matrix is " + std::to_string(lu.rows()) + " x " +
                                        std::to_string(lu.cols()) + "; allowed are square ones");
    const auto& state = lu.share_state();
    require(&state->runtime == &runtime && &b.runtime() == &runtime,
            "lu_solve: factors, B and runtime do not belong together");
    require(state->left_interchanges, "lu_solve: the matrix was factored without left_interchanges");
    require(b.rows() == lu.rows(),
            "lu_solve: B has " + std::to_string(b.rows()) + " rows; the factors have " + std::to_string(lu.rows()));
    if (auto gpus = gpus_to_solve_on(*state->a, b.share_storage()->column_bytes()); !gpus.empty()) {
        for (Index j = 0; j < b.tile_cols(); ++j) ColumnSolve<T>(*state, b, j).permute();
        const SubstitutionOnGpus<T> on_gpus(*state->a, std::move(gpus), lu.rows(), b);
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
Matrix<T> lu_solve_augmented(Runtime& runtime, const LuFactors<T>& lu) {
    const Index n = lu.rows();
    const Index k = lu.cols() - n;
    const auto& state = lu.share_state();
    require(k > 0, "lu_solve_augmented: the factored matrix is " + std::to_string(n) + " x " +
                       std::to_string(lu.cols()) + "; allowed are ones with more columns than rows");
    require(&state->runtime == &runtime, "lu_solve_augmented: the factors belong to another runtime");
    const TileGrid& grid = state->grid();
    Matrix<T> x(runtime, n, k, {grid.shape().height, std::min(k, grid.shape().width)}, "x");
    if (auto gpus = gpus_to_solve_on(*state->a, x.share_storage()->column_bytes()); !gpus.empty()) {
        for (Index c = 0; c < k; ++c) take_on_gpu(*state, gpus, x, c);
        SubstitutionOnGpus<T>(*state->a, std::move(gpus), n, x).solve(Triangle::upper, Diagonal::stored);
        return x;
    }
    // X starts as what the factorization made of B: U(:, n:)
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
Index solve(Runtime& runtime, Index n, Index nrhs, T* a, Index lda, Index* ipiv, T* b, Index ldb) {
    require(n >= 0, "solve: n = " + std::to_string(n) + "; allowed is at least 0");
    require(nrhs >= 0, "solve: nrhs = " + std::to_string(nrhs) + "; allowed is at least 0");
    const Index least = std::max<Index>(1, n);
    require(lda >= least, "solve: lda = " + std::to_string(lda) + "; allowed is at least " + std::to_string(least));
    require(ldb >= least, "solve: ldb = " + std::to_string(ldb) + "; allowed is at least " + std::to_string(least));
    require(a != nullptr || n == 0, "solve: the matrix is missing (null)");
    require(b != nullptr || n == 0 || nrhs == 0, "solve: the right-hand sides are missing (null)");

    const LuMode mode = choose_lu_mode(runtime, {}, {n, n, sizeof(T) == 4 ? 's' : 'd'}).mode;
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
template Matrix<float> lu_solve_augmented(Runtime&, const LuFactors<float>&);
template Matrix<double> lu_solve_augmented(Runtime&, const LuFactors<double>&);
template Index solve(Runtime&, Index, Index, float*, Index, Index*, float*, Index);
template Index solve(Runtime&, Index, Index, double*, Index, Index*, double*, Index);

}  // namespace basalt
