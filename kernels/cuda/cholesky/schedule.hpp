#pragma once

#include <algorithm>

#include "kernels/cuda/cholesky/leaf.hpp"

/// How a panel that one kernel factors (cholesky_fused.hpp) is cut into squares, in what order its tasks are drawn, and
/// where it lies.
namespace basalt::cuda_detail::cholesky {

/// Squares, and the tiles of those on the diagonal. No parameters: rows of a square are held in registers, 16 to a
/// warp, and the chain's leaf shares its multiprocessor with the operands of products.
using SquareShape = LeafShape<64, 32>;
constexpr int side = SquareShape::columns, tile = SquareShape::tile;
constexpr int side_tiles = side / 8;  // 16 x 8 tiles of a warp's 16 rows of a square
constexpr int most_task_squares = 2;  // one above the other
constexpr int task_rows = most_task_squares * side;

/// How a panel of rows x cols is cut: block columns begin at multiples of 64, block rows too as far as there are
/// columns; below, they are counted from row `cols` on, so that no block row has rows on the diagonal and rows below
/// it.
struct Squares {
    int rows, cols;

    constexpr int block_cols() const { return (cols + side - 1) / side; }
    constexpr int block_rows() const { return block_cols() + (rows - cols + side - 1) / side; }
    constexpr int first_col(int j) const { return std::min(j * side, cols); }
    constexpr int first_row(int i) const {
        return i < block_cols() ? i * side : std::min(cols + (i - block_cols()) * side, rows);
    }
};

/// Rows of `squares` block rows from `row` on, in block column `col`, take what the first `depth` block columns give.
/// Then they are solved for, or left to the chain.
struct Task {
    int row, squares, col, depth;
    bool solved;
};

/// The tasks of a panel in an order in which each needs earlier ones only. Those of block column j, whose depth is j:
///
///     (j + 1, j) and (j + 1, j + 1)    for the chain, unless they are there from the beginning
///     (j + 2, j)                       alone: the chain waits for it next
///     (j + 3 and j + 4, j) ..          in twos, which read a quarter less
class Schedule {
  public:
    explicit constexpr Schedule(Squares squares) : cols_(squares.block_cols()), rows_(squares.block_rows()) {}

    constexpr int for_chain(int col) const { return col > 0 && col + 1 < cols_ ? 2 : 0; }
    constexpr int tasks(int col) const {
        const int solved = rows_ - first_solved(col);
        return for_chain(col) + (solved > 0 ? 1 + solved / 2 : 0);
    }
    /// Number `n` of block column `col`.
    constexpr Task task(int col, int n) const {
        if (n < for_chain(col)) return {col + 1, 1, col + n, col, false};
        n -= for_chain(col);
        const int first = first_solved(col);
        if (n == 0) return {first, 1, col, col, true};
        const int row = first + 2 * n - 1;
        return {row, row + 1 < rows_ ? most_task_squares : 1, col, col, true};
    }
    constexpr int block_cols() const { return cols_; }
    /// Of all block columns.
    constexpr int tasks() const {
        int sum = 0;
        for (int col = 0; col < cols_; ++col) sum += tasks(col);
        return sum;
    }

  private:
    constexpr int first_solved(int col) const { return col + 1 < cols_ ? col + 2 : col + 1; }

    int cols_, rows_;
};

/// rows x cols, rows >= cols > 0; its lower triangle becomes L; the elements right of the diagonal are neither read nor
/// written.
template <class T>
struct FusedPanel {
    T* a;  ///< row-major
    Index ld;
    Squares squares;
    T* inverses;       ///< of all tiles on the diagonal, as a leaf has them
    int* use_inverse;  ///< for each tile
    int* counters;     ///< counters_of() of them, zero

    static constexpr int counters_of(Squares s) { return 1 + s.block_rows() + s.block_cols(); }

    /// Tickets that were drawn; the first is the chain's.
    BASALT_DEVICE int* drawn() const { return counters; }
    /// Block columns in which the block row is L.
    BASALT_DEVICE int* finished(int row) const { return counters + 1 + row; }
    /// What the block column's tasks have left to the chain.
    BASALT_DEVICE int* left(int col) const { return counters + 1 + squares.block_rows() + col; }

    BASALT_DEVICE Leaf<T, tile> leaf(int col) const {
        const int first = squares.first_col(col), tiles = first / tile;
        return {a + first * ld + first, ld, squares.first_col(col + 1) - first, inverses + tiles * tile * tile,
                use_inverse + tiles};
    }
};

}  // namespace basalt::cuda_detail::cholesky
