#pragma once

#include <string>
#include <vector>

#include <basalt/batch.hpp>
#include <basalt/runtime.hpp>

#include "tasks/batch/slices.hpp"

namespace basalt::detail {

/// Calls run(begin, end) for stretches of the batch that cover it, on several cores if that pays. work(k) estimates
/// the multiplications for matrix k.
template <class Work, class Run>
void share_batch(Runtime& runtime, const char* name, const BatchShape& batch, const Work& work, const Run& run) {
    if (total_batch_work(batch, work) < least_parallel_work) return run(0, batch.count);
    const std::vector<Index> cuts = slice_cuts(batch, work, runtime.workers());
    if (cuts.size() <= 2) return run(0, batch.count);
    runtime.submit_for({.name = TaskName::intern(name), .place = Place::cpu()}, {0, std::ssize(cuts) - 1}, 1,
                       [&](Index s) { run(cuts[static_cast<std::size_t>(s)], cuts[static_cast<std::size_t>(s) + 1]); });
    runtime.wait();
}

/// submit(begin, end) for each slice.
template <class Work, class Submit>
void submit_slices(const Runtime& runtime, const BatchShape& batch, const Work& work, const Submit& submit) {
    const std::vector<Index> cuts = slice_cuts(batch, work, runtime.workers());
    for (std::size_t s = 0; s + 1 < cuts.size(); ++s) submit(cuts[s], cuts[s + 1]);
}

}  // namespace basalt::detail
