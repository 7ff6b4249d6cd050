#pragma once

#include <vector>

#include <basalt/view.hpp>

namespace basalt {

class RowPermutation;

/// A permutation of rows cut into chunks that can move at once: what permute_rows() reads, in the memory of
/// its device.
///
/// Inside chunk q, row rows[i] gets what row rows[i + 1] held, for begins[q] <= i < begins[q + 1]; the last
/// one gets the contents of the chunk's own first row where next_slot[q] is -1 (a whole cycle), else what was
/// saved in that slot of the workspace. Slot s holds row saved_rows[s]. So only cycles longer than a chunk
/// take workspace: one row in `chunk_rows`.
struct PermutationPlan {
    static constexpr Index chunk_rows = 32;

    const Index* rows = nullptr;        ///< `moved` of them
    const Index* begins = nullptr;      ///< chunks + 1
    const Index* next_slot = nullptr;   ///< chunks
    const Index* saved_rows = nullptr;  ///< slots
    Index moved = 0;
    Index chunks = 0;
    Index slots = 0;

    /// The same plan where its size() numbers are copied to `numbers`.
    PermutationPlan at(const Index* numbers) const;

    /// All its numbers lie one behind the other, from `rows` on.
    Index size() const { return moved + 2 * chunks + 1 + slots; }

    /// Elements of workspace to permute `columns` tile columns of that width.
    Index workspace(Index columns, Index width) const { return slots * columns * width; }
};

/// A plan in memory of its own.
class StoredPermutationPlan {
  public:
    explicit StoredPermutationPlan(const RowPermutation& permutation);

    PermutationPlan plan() const { return shape_.at(numbers_.data()); }

  private:
    std::vector<Index> numbers_;
    PermutationPlan shape_;
};

}  // namespace basalt
