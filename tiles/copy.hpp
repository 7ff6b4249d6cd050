#pragma once

#include <basalt/view.hpp>

namespace basalt {

/// Whether written elements stay in the caches.
enum class Caching {
    keep,
    bypass,  ///< if possible, a line of the target is not read before it is written
};

/// target(i, j) = source(i, j) for two windows of equal shape that do not overlap, with any strides. Runs of
/// contiguous elements are copied as such, and a transposition (unit strides in different directions) goes
/// through blocks of a cache line's elements squared. Instantiated for float and double. Calls on disjoint targets
/// may run at once. Caching::bypass matters for transpositions whose target has lines a multiple of a cache line apart.
template <class T>
void copy_elements(View<const T> source, View<T> target, Caching caching = Caching::keep);

}  // namespace basalt
