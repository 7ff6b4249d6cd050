#pragma once

#include <algorithm>

#include <basalt/view.hpp>

namespace basalt {

/// The rows of a panel dealt to the members of its gang, fixed for the whole panel so that a member's rows
/// stay in its cache (Kurzak LU, section 3.3).
///
/// Member 0 loses its rows one by one as the diagonal passes, so it starts with half the panel's width more.
class RowPartition {
  public:
    RowPartition(Index rows, Index cols, int members)
        : others_((rows - std::min(rows, cols) / 2) / members), first_(rows - others_ * (members - 1)) {}

    Index begin(int rank) const { return rank == 0 ? 0 : first_ + (rank - 1) * others_; }
    Index end(int rank) const { return first_ + rank * others_; }
    int owner(Index row) const { return row < first_ ? 0 : static_cast<int>(1 + (row - first_) / others_); }

  private:
    Index others_;
    Index first_;
};

}  // namespace basalt
