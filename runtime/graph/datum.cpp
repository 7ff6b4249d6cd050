#include "runtime/graph/datum.hpp"

#include <utility>

namespace basalt::detail {

void Datum::take_back(HostBuffer buffer) {
    std::unique_lock guard(retired_lock);
    spare_buffers.push_back(std::move(buffer));
    if (--retired_versions > 0 || !given_up) return;
    guard.unlock();
    delete this;
}

void Datum::give_up() {
    std::unique_lock guard(retired_lock);
    given_up = true;
    if (retired_versions > 0) return;
    guard.unlock();
    delete this;
}

}  // namespace basalt::detail
