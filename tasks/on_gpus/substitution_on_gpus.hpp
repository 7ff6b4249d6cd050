#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/matrix.hpp"
#include "kernels/triangle.hpp"
#include "runtime/storage/matrix_storage.hpp"

namespace basalt::detail {

/// GPUs, by tile column.
using ColumnGpus = std::vector<int>;

/// The GPUs that have a matrix's tile columns once everything submitted so far has run, if no column is on the host and
/// each GPU has room for tasks that need `bytes` in addition to a column. Then solving on GPUs costs less than moving
/// the matrix to the host. Otherwise, and inside a task, the result is empty: cores solve. Call this before submitting
/// any part of the solution, which may move columns.
ColumnGpus gpus_to_solve_on(const MatrixStorage& a, std::size_t bytes);

/// Rows of X that a solution reaches where X begins as an identity, by the columns of X that are solved for.
enum class Reach : std::uint8_t {
    all,
    from_diagonal,  ///< the columns' own rows and those below; zeros, or not needed, above
    to_diagonal,    ///< their own rows and those above
};

/// Tile columns [begin, end).
struct TileRange {
    Index begin;
    Index end;

    Index size() const { return end - begin; }
};

/// The tile columns of A whose columns are rows of X that the solution for tile column `column` of X reaches.
TileRange reached_tiles(const TileGrid& a, const TileGrid& x, Index column, Reach reach);

/// DiagonalInverses are faster up to this number of right-hand sides, products with more of them.
inline constexpr Index few_right_hand_sides = 8;

/// The inverses of blocks on the diagonal of a factored matrix's triangle, each on the GPU that has its tile column.
template <class T>
class DiagonalInverses {
  public:
    /// Submits their computation. `gpus`: see gpus_to_solve_on().
    DiagonalInverses(const MatrixStorage& a, const ColumnGpus& gpus, Index order, Triangle triangle, Diagonal diagonal);

    Triangle triangle() const { return triangle_; }
    Diagonal diagonal() const { return diagonal_; }
    Region<T> of_column(Index j) const { return inverses_[static_cast<std::size_t>(j)].region(); }

  private:
    const Triangle triangle_;
    const Diagonal diagonal_;
    std::vector<Array<T>> inverses_;
};

/// Solves with the triangles of a factored matrix on GPUs, tile column after tile column, each on its GPU. The
/// right-hand sides go from one GPU to the next.
template <class T>
class SubstitutionOnGpus {
  public:
    /// The triangles are those of the matrix's first `order` rows and columns. Pins x's memory where its contents are
    /// on the host.
    SubstitutionOnGpus(const MatrixStorage& a, ColumnGpus gpus, Index order, const Matrix<T>& x);

    /// X = T^-1 X, or T^-T X, for the first `order` rows of X. With a reach, A is square.
    void solve(Triangle triangle, Diagonal diagonal, MatrixOp op = MatrixOp::plain, Reach reach = Reach::all) const;
    /// X = T^-1 X, or T^-T X, with the inverses on T's diagonal: faster for few right-hand sides. One task where one
    /// GPU has the whole triangle.
    void solve(const DiagonalInverses<T>& inverses, MatrixOp op = MatrixOp::plain) const;

  private:
    /// A tile column's part of a triangle: rows of the matrix, and of the square among them.
    struct Part {
        Index width, row_begin, row_end, square;
    };
    /// As far as it lies in the rows of `tiles`.
    Part part(Index tile_column, TileRange tiles, Triangle triangle) const;
    /// For tile column `column` of X. `inverses`: nullptr for none.
    void solve(Index column, TileRange tiles, Triangle triangle, Diagonal diagonal, MatrixOp op,
               const DiagonalInverses<T>* inverses) const;
    void submit_tile_column(Index j, Index column, const Part& part, Triangle triangle, Diagonal diagonal, MatrixOp op,
                            const DiagonalInverses<T>* inverses) const;
    /// Tile columns that the triangle has a part of.
    Index triangle_columns() const { return order_ == 0 ? 0 : a_.grid().tile_col_of(order_ - 1) + 1; }
    bool one_gpu_has_all() const;
    void solve_whole(const DiagonalInverses<T>& inverses, MatrixOp op) const;

    const MatrixStorage& a_;
    const ColumnGpus gpus_;
    const Index order_;
    const Matrix<T>& x_;
};

extern template class DiagonalInverses<float>;
extern template class DiagonalInverses<double>;
extern template class SubstitutionOnGpus<float>;
extern template class SubstitutionOnGpus<double>;

}  // namespace basalt::detail
