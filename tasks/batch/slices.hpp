#pragma once

#include <algorithm>
#include <vector>

#include <basalt/batch.hpp>

namespace basalt::detail {

// Work of matrices in multiplications, estimated. Moving a matrix of order n costs about as much as 8 n^2 of them, and
// each matrix has a cost of its own.
inline Index batch_work(Index n, Index columns) { return 64 + 8 * n * n + n * n * n / 6 + 2 * n * n * columns; }

/// Below this much work a call runs on its own thread: waking another one takes ten microseconds.
constexpr Index least_parallel_work = 400'000;
/// Work of a slice: about 100 microseconds, next to which the cost of a task does not matter.
constexpr Index slice_work = 2'000'000;

/// Work of a whole batch, B may be absent.
template <class A, class B>
Index total_batch_work(const BatchView<A>& a, const BatchView<B>* b) {
    const auto work = [&](Index k) { return batch_work(a[k].rows(), b != nullptr ? (*b)[k].cols() : 0); };
    if (a.count() == 0) return 0;
    if (a.uniform() && (b == nullptr || b->uniform())) return a.count() * work(0);
    Index sum = 0;
    for (Index k = 0; k < a.count(); ++k) sum += work(k);
    return sum;
}

/// Where slices begin, and the count of matrices at the end. A slice of a large batch holds a multiple of `lanes`
/// matrices; a batch of few matrices is cut into equal work for the workers.
template <class A, class B>
std::vector<Index> slice_cuts(const BatchView<A>& a, const BatchView<B>* b, Index lanes, int workers) {
    const bool few = a.count() < 4 * lanes * workers;
    const Index total = total_batch_work(a, b);
    const Index wanted = few ? std::max((total + workers - 1) / workers, least_parallel_work / 4)
                             : std::clamp(total / (4 * workers), least_parallel_work / 4, slice_work);
    std::vector<Index> cuts{0};
    Index sum = 0;
    for (Index k = 0; k < a.count(); ++k) {
        sum += batch_work(a[k].rows(), b != nullptr ? (*b)[k].cols() : 0);
        if (sum < wanted || (!few && (k + 1 - cuts.back()) % lanes != 0)) continue;
        cuts.push_back(k + 1);
        sum = 0;
    }
    if (cuts.back() != a.count()) cuts.push_back(a.count());
    return cuts;
}

}  // namespace basalt::detail
