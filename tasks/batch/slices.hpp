#pragma once

#include <algorithm>
#include <vector>

#include <basalt/batch.hpp>

namespace basalt::detail {

/// Below this much work a call runs on its own thread: waking another one takes ten microseconds.
constexpr Index least_parallel_work = 400'000;
/// Work of a slice: about 100 microseconds, next to which the cost of a task does not matter.
constexpr Index slice_work = 2'000'000;

/// What a call does with each matrix.
struct BatchShape {
    Index count;
    bool alike;   ///< all matrices have the shape of the first
    Index lanes;  ///< that are interleaved: batch_lanes()
};

/// Work of a batch in multiplications, estimated: work(k) is that of matrix k.
template <class Work>
Index total_batch_work(const BatchShape& batch, const Work& work) {
    if (batch.count == 0) return 0;
    if (batch.alike) return batch.count * work(0);
    Index sum = 0;
    for (Index k = 0; k < batch.count; ++k) sum += work(k);
    return sum;
}

/// Where slices begin, and the count of matrices at the end. A slice of a large batch holds a multiple of
/// batch.lanes matrices; a batch of few matrices is cut into equal work for the workers.
template <class Work>
std::vector<Index> slice_cuts(const BatchShape& batch, const Work& work, int workers) {
    const bool few = batch.count < 4 * batch.lanes * workers;
    const Index total = total_batch_work(batch, work);
    const Index wanted = few ? std::max((total + workers - 1) / workers, least_parallel_work / 4)
                             : std::clamp(total / (4 * workers), least_parallel_work / 4, slice_work);
    std::vector<Index> cuts{0};
    Index sum = 0;
    for (Index k = 0; k < batch.count; ++k) {
        sum += work(batch.alike ? 0 : k);
        if (sum < wanted || (!few && (k + 1 - cuts.back()) % batch.lanes != 0)) continue;
        cuts.push_back(k + 1);
        sum = 0;
    }
    if (cuts.back() != batch.count) cuts.push_back(batch.count);
    return cuts;
}

}  // namespace basalt::detail
