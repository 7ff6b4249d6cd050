#pragma once

#include "basalt/runtime.hpp"

namespace basalt::detail {

/// Mode hybrid: panel k, factored by a gang of so many threads.
inline TaskOptions gang_panel(int k, int threads, int priority) {
    return {.name = "panel",
            .priority = priority,
            .threads = {threads, threads},
            .tile = {k, k, -1},
            .step = k,
            .place = Place::cpu(),
            .near_pinned_memory = true};
}

}  // namespace basalt::detail
