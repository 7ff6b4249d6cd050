#pragma once

// What the tests of LU and QR as the threads of a GPU do them share.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/cuda/batch/eliminate.hpp"
#include "kernels/cuda/batch/panels.hpp"
#include "tests/common/catch.hpp"
#include "tests/tasks/batch/factor_cases.hpp"

namespace basalt_tests {

template <class T>
basalt::cuda_detail::batch::RightSides<T> right_of(BatchMemory<T>& b, Index k) {
    return {b[k].data(), b.ld(), b.cols};
}

/// Compares what belongs to matrix k, and the memory around all of them.
template <class T>
void check_near(BatchMemory<T>& values, BatchMemory<T>& expected, const std::vector<int>& info, bool also_failed) {
    double worst = 0;
    for (Index k = 0; k < values.count; ++k) {
        if (info[static_cast<std::size_t>(k)] != 0 && !also_failed) continue;
        worst = std::max(worst, relative_difference(values[k], expected[k]));
    }
    CHECK(worst <= 20 * batch_tolerance<T>(values.rows));
    CHECK(gaps_untouched(values));
}

template <class T>
std::vector<basalt::cuda_detail::batch::Chunk<T>> unread_memory(std::size_t bytes) {
    std::vector<basalt::cuda_detail::batch::Chunk<T>> raw((bytes + 15) / 16);
    for (auto& chunk : raw)
        std::fill(std::begin(chunk.value), std::end(chunk.value), std::numeric_limits<T>::quiet_NaN());
    return raw;
}

}  // namespace basalt_tests
