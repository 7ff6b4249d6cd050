#pragma once

#include "runtime/graph/datum.hpp"

namespace basalt::detail {

/// The array that a block is a part of; any other datum is its own.
inline Datum& array_of(Datum& datum) { return datum.whole != nullptr ? *datum.whole->datum : datum; }

/// visit(other) for each other datum that has elements in common with this one, which is a block or is cut into blocks.
/// Under the lock of its home order.
template <class F>
void for_each_overlapping(Datum& datum, const F& visit) {
    Datum& array = array_of(datum);
    if (&array != &datum) visit(array);
    array.partitions->for_each_in(datum.part_of_whole(), [&](Datum& block) {
        if (&block != &datum) visit(block);
    });
}

}  // namespace basalt::detail
