#pragma once

#include <algorithm>

#include <basalt/view.hpp>

namespace basalt {

/// The rows of a panel dealt to the members of its gang, fixed for the whole panel so that a member's rows
/// stay in its cache (Kurzak LU, section 3.3).
///
/// Member 0 loses its rows one by one as the diagonal passes, so it starts with half the panel's width more.
///
/// Members begin at multiples of `alignment`. The rows that do not fill a vector register when a block is taken from
/// the panel are then the panel's last ones in a gang of any size. Behind that, kernels compute a row with the same
/// bits wherever it lies in a member's rows (simd/kernels.hpp), so the result has the same bits.
class RowPartition {
  public:
    /// A multiple of the widest register's lanes: 64 bytes of float.
    static constexpr Index alignment = 16;

    RowPartition(Index rows, Index cols, int members)
        : rows_(rows),
          members_(members),
          others_((rows - std::min(rows, cols) / 2) / members),
          first_(rows - others_ * (members - 1)) {}

    Index begin(int rank) const { return rank == 0 ? 0 : (first_ + (rank - 1) * others_) / alignment * alignment; }
    Index end(int rank) const { return rank + 1 == members_ ? rows_ : begin(rank + 1); }
    int owner(Index row) const {
        // exact boundaries are up to alignment - 1 rows behind the aligned ones
        int rank = row < first_ || others_ == 0 ? 0 : static_cast<int>(1 + (row - first_) / others_);
        while (rank + 1 < members_ && row >= begin(rank + 1)) ++rank;
        return rank;
    }

  private:
    Index rows_;
    int members_;
    Index others_;
    Index first_;
};

}  // namespace basalt
