#include "runtime/graph/datum.hpp"

namespace basalt::detail {

void Datum::forget_contents() noexcept {
    renamed.reset();
    first = Version();
    std::vector<HostBuffer>().swap(spare_buffers);
    current = &first;
    rows = 0;
    cols = 0;
    renameable = scratch = borrowed = false;
    home_order = 0;
    element_size = 0;
    retired_versions = 0;
    given_up = false;
}

}  // namespace basalt::detail
