#include "runtime/graph/datum.hpp"

namespace basalt::detail {

void Datum::forget_contents() noexcept {
    // First: a thread that evicts may still find the residency, and then reads who used the version. Behind this it is
    // in no list of a device any more.
    first.residency.reset();
    first = Version();
    std::vector<std::unique_ptr<Version>>().swap(further);
    object.reset();
    former = unused = {};
    in_use_by = {};
    current = &first;
    rows = 0;
    cols = 0;
    renameable = scratch = borrowed = shares_memory = by_columns = is_current = may_have_unused = false;
    ld = first_row = first_col = 0;
    whole = nullptr;
    partitions.reset();
    home_order = 0;
    element_size = 0;
    retired_versions = 0;
    given_up = false;
}

}  // namespace basalt::detail
