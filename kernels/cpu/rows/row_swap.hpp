#pragma once

#include <vector>

#include <basalt/view.hpp>

namespace basalt {

/// Exchanges row k of A with row pivots[k] for k = 0 .. count - 1, in that order (LAPACK's laswp, 0-based,
/// relative to the view). A is row-major, so a row is one contiguous stretch; columns outside the view are
/// not touched, so members of a gang may each take a range of columns.
template <class T>
void swap_rows(View<T> a, const Index* pivots, Index count);

/// The pivots of one panel: row offset + k was exchanged with row offset + pivots[k], k = 0 .. count - 1.
struct Interchanges {
    Index offset;
    const Index* pivots;
    Index count;
};

/// A permutation of rows as its cycles; rows that stay are not stored.
class RowPermutation {
  public:
    RowPermutation() = default;

    /// Composes the lists, applied one after the other, of a matrix of `rows` rows.
    /// Throws std::out_of_range for a row outside 0 .. rows - 1.
    RowPermutation(Index rows, const std::vector<Interchanges>& lists);

    /// Moves the rows of A (row-major), as if all the interchanges were applied in turn: every row that moves
    /// is read and written once. `scratch` holds one row: a.cols() elements.
    template <class T>
    void apply(View<T> a, T* scratch) const;

    /// Number of rows that move.
    Index moved() const { return static_cast<Index>(rows_.size()); }

    /// The cycles, one behind the other: in each, the new row rows()[i] is the old row rows()[i + 1], the last one
    /// the first's.
    const std::vector<Index>& rows() const { return rows_; }
    /// Where in rows() each cycle ends.
    const std::vector<Index>& cycle_ends() const { return cycle_ends_; }

  private:
    std::vector<Index> rows_;
    std::vector<Index> cycle_ends_;
};

}  // namespace basalt
