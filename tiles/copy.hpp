#pragma once

#include <basalt/view.hpp>

namespace basalt {

/// target(i, j) = source(i, j) for two windows of equal shape that do not overlap, with any strides. Runs of
/// contiguous elements are copied as such, and a transposition (unit strides in different directions) goes
/// through blocks of 8 x 8 elements. Instantiated for float and double. Safe at once on disjoint targets.
template <class T>
void copy_elements(View<const T> source, View<T> target);

}  // namespace basalt
