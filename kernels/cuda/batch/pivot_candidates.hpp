#pragma once

#include <limits>

#include "kernels/cuda/batch/pivot_keys.hpp"

/// The search for a pivot by magnitudes and places, without keys.
namespace basalt::cuda_detail::batch {

/// A row that may become the pivot of a step: how large its element is, and its place.
template <class T>
struct Candidate {
    T size;
    int place;
};

/// A row that takes no part: of the padding, or a pivot before.
template <class T>
BASALT_DEVICE Candidate<T> no_candidate(int place) {
    return {T{-2}, place};
}
/// What the element x of a row at `place` counts in step k: nothing where the row was a pivot before; a NaN wins on the
/// diagonal, and counts less than a number elsewhere.
template <class T>
BASALT_DEVICE Candidate<T> candidate(T x, int place, int k) {
    if (place < k) return no_candidate<T>(place);
    if (x != x) return {place == k ? std::numeric_limits<T>::infinity() : T{-1}, place};
    return {magnitude(x), place};
}

template <class T>
BASALT_DEVICE Candidate<T> better(const Candidate<T>& a, const Candidate<T>& b) {
    return b.size > a.size || (b.size == a.size && b.place < a.place) ? b : a;
}

/// The best candidate of a warp, the same in all lanes.
template <class T, class Thread>
BASALT_DEVICE Candidate<T> best_of_lanes(const Thread& thread, Candidate<T> own) {
    BASALT_UNROLL
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
        const Candidate<T> other{thread.from_lane(own.size, thread.lane ^ distance),
                                 thread.from_lane(own.place, thread.lane ^ distance)};
        own = better(own, other);
    }
    return own;
}

/// The multiplier of x with a pivot that may have no reciprocal.
template <class T>
BASALT_DEVICE T multiplier(T x, T pivot, T reciprocal) {
    if (pivot == T{0}) return x;
    return magnitude(pivot) < std::numeric_limits<T>::min() ? x / pivot : x * reciprocal;
}

}  // namespace basalt::cuda_detail::batch
