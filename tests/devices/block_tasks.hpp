#pragma once

// What tests of blocks of arrays share.

#include "basalt/array2d.hpp"
#include "basalt/device.hpp"
#include "basalt/runtime.hpp"

namespace basalt_tests {

/// Emulated GPUs run the kernel for cores.
inline constexpr auto same_kernel = [](basalt::Stream) {};

/// Triples each element of a view, whatever its shape and leading dimension.
inline void triple(basalt::View<int> x) {
    for (basalt::Index j = 0; j < x.cols(); ++j) {
        for (basalt::Index i = 0; i < x.rows(); ++i) x(i, j) *= 3;
    }
}

/// Element (i, j) is 100 i + j.
inline void number(const basalt::Array2D<int>& x) {
    const basalt::View<int> view = x.host_overwrite();
    for (basalt::Index j = 0; j < x.cols(); ++j) {
        for (basalt::Index i = 0; i < x.rows(); ++i) view(i, j) = static_cast<int>(100 * i + j);
    }
}

}  // namespace basalt_tests
