#pragma once

#include "basalt/runtime.hpp"

namespace basalt::detail {

/// Mode hybrid: the task that factors panel k with a gang of `threads`.
inline TaskOptions gang_panel(int k, Threads threads, int priority) {
    return {.name = "panel",
            .priority = priority,
            .threads = threads,
            .tile = {k, k},
            .step = k,
            .place = Place::cpu(),
            .near_pinned_memory = true};
}

}  // namespace basalt::detail
