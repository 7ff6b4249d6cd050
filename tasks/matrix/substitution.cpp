#include "tasks/matrix/substitution.hpp"

#include <algorithm>
#include <vector>

#include "basalt/tuning.hpp"
#include "kernels/cpu/blas/blas.hpp"
#include "kernels/cpu/blas/serial.hpp"
#include "kernels/cpu/products/gemm.hpp"
#include "kernels/cpu/products/gemv.hpp"
#include "kernels/cpu/triangle/substitution.hpp"

namespace basalt::detail {

namespace {

/// B -= A X
template <class T>
void subtract_plain(View<const T> a, View<const T> x, View<T> b) {
    if (b.cols() == 1) {
        const BlasSerial serial;
        return blas::gemv_minus<T>(a, x, b);
    }
    std::vector<T> packed(static_cast<std::size_t>(packed_size<T>(x.rows(), x.cols())));
    pack_b<T>(x, packed.data());
    gemm_minus(b, a, packed.data());
}

/// B -= A^T X
template <class T>
void subtract_transposed(View<const T> a, View<const T> x, View<T> b) {
    const BlasSerial serial;
    if (b.cols() == 1) return blas::gemv_minus<T>(transposed(a), x, b);
    blas::gemm<T>(T{-1}, transposed(a), x, T{1}, b);
}

}  // namespace

/// One tile column of X on the cores. Block k of X has the rows that are the columns of A's tile column k.
template <class T>
class Substitution<T>::Column {
  public:
    Column(const MatrixStorage& a, const Matrix<T>& x, Index column, TileRange blocks)
        : a_(a),
          x_(x),
          column_(column),
          width_(x.column(column).cols),
          blocks_(blocks),
          rows_a_task_(a.runtime().tuning().cpu.lu.solve_rows) {}

    void solve(Triangle triangle, Diagonal diagonal, MatrixOp op) {
        const bool plain = op == MatrixOp::plain;
        const bool ascending = (triangle == Triangle::lower) == plain;
        for (Index step = 0; step < blocks_.size(); ++step) {
            const Index k = ascending ? blocks_.begin + step : blocks_.end - 1 - step;
            solve_block(k, triangle, diagonal, op);
            const TileRange rest = ascending ? TileRange{k + 1, blocks_.end} : TileRange{blocks_.begin, k};
            if (plain) {
                update(k, rest);
            } else {
                for (Index i = rest.begin; i < rest.end; ++i) update_transposed(k, i);
            }
        }
    }

  private:
    const TileGrid& grid() const { return a_.grid(); }
    Index first(Index k) const { return std::min(grid().first_col(k), grid().cols()); }
    Region<T> rows(Index begin, Index end) const { return x_.block(column_, begin, end, 0, width_); }
    Region<T> block(Index k) const { return rows(first(k), first(k + 1)); }
    Region<T> factor(Index column, Index begin, Index end) const {
        return a_.template region<T>(column, begin, end, 0, grid().tile_width(column));
    }
    TaskOptions options(TaskName name, Index k, int priority = 0) const {
        return {.name = name,
                .priority = priority,
                .tile = {static_cast<int>(k), static_cast<int>(column_)},
                .place = Place::cpu()};
    }

    /// X(k) = op(A(k, k))^-1 X(k)
    void solve_block(Index k, Triangle triangle, Diagonal diagonal, MatrixOp op) {
        const bool flip = op == MatrixOp::transposed;
        const Triangle seen = (triangle == Triangle::lower) != flip ? Triangle::lower : Triangle::upper;
        a_.runtime().submit(options("solve", k, 1), read(factor(k, first(k), first(k + 1))), readwrite(block(k)),
                            [seen, diagonal, flip](View<const T> t, View<T> x) {
                                cpu_kernels::solve_triangle<T>(seen, diagonal, flip ? transposed(t) : t, x);
                            });
    }

    /// X(i) -= A(i, k) X(k) for the blocks i of a range.
    void update(Index k, TileRange rest) {
        for (Index row = first(rest.begin), end = first(rest.end); row < end; row += rows_a_task_) {
            const Index row_end = std::min(row + rows_a_task_, end);
            a_.runtime().submit(options("solve update", k), read(factor(k, row, row_end)), read(block(k)),
                                readwrite(rows(row, row_end)),
                                [](View<const T> a, View<const T> x, View<T> b) { subtract_plain<T>(a, x, b); });
        }
    }

    /// X(i) -= A(k, i)^T X(k)
    void update_transposed(Index k, Index i) {
        a_.runtime().submit(options("solve update", k), read(factor(i, first(k), first(k + 1))), read(block(k)),
                            readwrite(block(i)),
                            [](View<const T> a, View<const T> x, View<T> b) { subtract_transposed<T>(a, x, b); });
    }

    const MatrixStorage& a_;
    const Matrix<T>& x_;
    const Index column_;
    const Index width_;
    const TileRange blocks_;
    const Index rows_a_task_;
};

template <class T>
Substitution<T>::Substitution(const MatrixStorage& a, const Matrix<T>& x)
    : a_(a), x_(x), gpus_(gpus_to_solve_on(a, x.share_storage()->column_bytes())) {}

template <class T>
void Substitution<T>::solve(Triangle triangle, Diagonal diagonal, MatrixOp op, Reach reach) const {
    if (on_gpus()) {
        return SubstitutionOnGpus<T>(a_, gpus_, a_.grid().rows(), x_).solve(triangle, diagonal, op, reach);
    }
    for (Index j = 0; j < x_.tile_cols(); ++j) {
        const TileRange blocks = reached_tiles(a_.grid(), x_.share_storage()->grid(), j, reach);
        Column(a_, x_, j, blocks).solve(triangle, diagonal, op);
    }
}

template <class T>
void submit_identity(Runtime& runtime, const Matrix<T>& matrix) {
    const TileGrid& grid = matrix.share_storage()->grid();
    for (Index j = 0; j < matrix.tile_cols(); ++j) {
        const Index first = grid.first_col(j), width = grid.tile_width(j);
        runtime.submit({.name = "identity", .tile = {static_cast<int>(j)}, .place = Place::cpu()},
                       readwrite(matrix.block(j, first, first + width, 0, width)), [](View<T> block) {
                           for (Index i = 0; i < block.rows(); ++i) block(i, i) = T{1};
                       });
    }
}

template class Substitution<float>;
template class Substitution<double>;
template void submit_identity(Runtime&, const Matrix<float>&);
template void submit_identity(Runtime&, const Matrix<double>&);

}  // namespace basalt::detail
