#pragma once

#include "lapack/abi/settings.hpp"
#include "lapack/call.hpp"

namespace basalt::lapack {

/// Whether a call is taken, and why: the second half of a sentence.
struct Decision {
    bool take = false;
    const char* why = "";

    static Decision taken(const char* why) { return {.take = true, .why = why}; }
    static Decision passed_on(const char* why) { return {.take = false, .why = why}; }
};

/// The rule. A call is passed on if it has no elements, or by BASALT_LAPACK=off. Otherwise, an array in a GPU's memory
/// makes it taken. A gecon of order 8 at most is passed on, since LAPACK's own latdf reads its workspace. By `auto`, it
/// is taken if the product of its three dimensions reaches the cube of the routine's order (or of
/// BASALT_LAPACK_THRESHOLD), and its shortest dimension the routine's width: below, converting the arrays to tiles
/// costs more than it gains.
Decision decide(const Call& call, const Settings& settings);

/// Operations of a call, to the leading order.
double operations(const Call& call);

/// "getrf" and so on.
const char* name_of(Routine routine);

}  // namespace basalt::lapack
