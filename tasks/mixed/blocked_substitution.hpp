#pragma once

#include <cstdint>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/lu.hpp"
#include "basalt/mixed.hpp"
#include "tasks/mixed/double_columns.hpp"
#include "tasks/mixed/lowered.hpp"
#include "tasks/mixed/vectors.hpp"
#include "tasks/on_gpus/substitution_on_gpus.hpp"

namespace basalt::detail {

/// Solves with the LU factors of a lowered matrix block by block (docs/decisions/0031-mixed-precision.md, "Blocked
/// substitutions"). A core multiplies with the inverse of a block on the diagonal; the GPU updates the other rows,
/// those of the next blocks first. While it substitutes with U, the GPU also subtracts each tile column's part of A x
/// from the residual, in double.
class BlockedSubstitution {
  public:
    /// Whether one GPU has the factors and the inverses of their blocks.
    static bool is_possible(const LuFactors<float>& lu, Index right_hand_sides);

    /// For that number of right-hand sides, if is_possible(). `a` and `lowered`, from which `lu` comes, outlive this
    /// object. With Substitution::blocked_backward one launch substitutes with L.
    BlockedSubstitution(Runtime& runtime, const DoubleColumns& a, const LoweredMatrix& lowered,
                        const LuFactors<float>& lu, const MixedOptions& options, Index right_hand_sides);

    /// x = C (L U)^-1 P V / scales, with the columns' factors C and a scale for each right-hand side, and rest = b - A
    /// x. V is one tile column, and is overwritten. Waits for it.
    void solve(const Matrix<float>& v, const std::vector<double>& scales, const Vectors& b, Vectors& x, Vectors& rest);
    /// The same for right-hand sides that were factored with A.
    void solve_augmented(const std::vector<double>& scales, const Vectors& b, Vectors& x, Vectors& rest);

  private:
    enum class Direction : std::uint8_t { forward, backward };
    struct Rows {
        Index begin, end;
    };
    /// A block on the diagonal.
    struct Block {
        Index number;
        Index tile_column;
        Index col;  ///< its first column in the tile column
        Rows rows;

        Index size() const { return rows.end - rows.begin; }
    };

    void add_blocks();
    const Block& block(Direction direction, Index step) const;
    /// The rows behind those of the block.
    Rows beyond(Direction direction, const Block& block) const;

    /// Substitutes with L (forward) or U.
    void sweep(Direction direction, const Matrix<float>& v);
    void finish(const Vectors& b, Vectors& x, Vectors& rest, const Matrix<float>& v, const std::vector<double>& scales);

    // tasks
    void send(const Matrix<float>& v, const Block& block);
    void multiply(Direction direction, const Block& block);
    void update(const Matrix<float>& v, const Block& solved, Rows rows, int priority);
    void keep(const Matrix<float>& v, const Block& solved, int priority);
    void scale(Index tile_column);
    void subtract_from_residual(Index tile_column);

    Region<float> rows_of(const Matrix<float>& v, Rows rows) const { return v.block(0, rows.begin, rows.end, 0, k_); }
    /// Of one of the matrices below.
    template <class T>
    Region<T> part(const Matrix<T>& parts, Index number, Index rows) const {
        return parts.block(number, 0, rows, 0, k_);
    }

    Runtime& rt_;
    const DoubleColumns& a_;
    const LoweredMatrix& lowered_;
    const LuFactors<float> lu_;
    const ColumnGpus gpus_;
    const bool forward_by_blocks_;
    const Index lookahead_;
    const Index k_;  ///< right-hand sides
    std::vector<Block> blocks_;
    std::vector<double> inverse_scales_;
    // A tile column of the next two for each block, and of the third for each tile column of A: data that go to another
    // memory alone. Last: their ends wait for the tasks.
    Matrix<float> right_sides_;  ///< that the cores solve for
    Matrix<float> solved_;
    Matrix<double> x_;
    Array<double> residual_;
};

}  // namespace basalt::detail
