#pragma once

#include <atomic>

#include "basalt/view.hpp"

/// Kernels and functions for tests of reductions.
namespace basalt_tests {

inline void add_one(basalt::View<long> x) {
    for (basalt::Index i = 0; i < x.size(); ++i) ++x[i];
}

/// How many copies make_zeros() made. Functions of reductions have no state.
inline std::atomic<int> copies_made{0};

inline constexpr auto make_zeros = [](basalt::View<long> copy) {
    ++copies_made;
    for (basalt::Index i = 0; i < copy.rows(); ++i) copy[i] = 0;
};
inline constexpr auto add_views = [](basalt::View<long> into, basalt::View<const long> from) {
    for (basalt::Index i = 0; i < into.rows(); ++i) into[i] += from[i];
};

}  // namespace basalt_tests
