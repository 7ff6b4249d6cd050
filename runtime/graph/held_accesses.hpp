#pragma once

#include <cstddef>
#include <vector>

#include "runtime/graph/task.hpp"

namespace basalt::detail {

/// What a task holds, for those who ask which of its accesses cover a region. With many accesses it keeps an index,
/// made when somebody first asks. Not synchronised: the lock of the scope of the task's children guards it.
class HeldAccesses {
  public:
    explicit HeldAccesses(const Task* holder) : holder_(holder) {}

    /// Of the accesses that hold row `row` of the record's datum in the record's columns and mode, the one that ends
    /// last. nullptr where there is none.
    const BoundAccess* reaching_farthest(const AccessRecord& record, Index row);

  private:
    /// An access in the index. It is sorted by datum and first row.
    struct Entry {
        const Datum* datum;
        const BoundAccess* access;
        Index reach;  ///< where the last of the datum's accesses up to this one ends
    };
    /// Where the entries of a datum begin and end: a place of a hash table.
    struct Range {
        const Datum* datum = nullptr;
        std::size_t begin = 0;
        std::size_t end = 0;
    };

    void make_index();
    Range& place_of(const Datum* datum);

    const Task* const holder_;
    std::vector<Entry> entries_;
    std::vector<Range> table_;  ///< open addressing; a power of two, at most half full
};

}  // namespace basalt::detail
