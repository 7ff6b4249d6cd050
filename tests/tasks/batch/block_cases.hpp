#pragma once

// What the tests of BatchBlocks share, on cores and emulated GPUs and on real ones.
#include <vector>

#include "basalt/basalt.hpp"
#include "tests/common/catch.hpp"
#include "tests/kernels/cases/batches.hpp"

namespace basalt_tests {

/// Factors and solves the batch by two calls and by one, and checks both.
template <class T>
void check_cholesky_of_slices(Runtime& runtime, const BatchCase<T>& p, Index slices) {
    std::vector<T> a = p.a, b = p.b, a2 = p.a, b2 = p.b;
    std::vector<Index> info(p.info.size(), -7), info2(p.info.size(), -7);
    {
        const BatchBlocks<T> batch(runtime, p.view_a(a.data()), slices, "A");
        const BatchBlocks<T> sides(runtime, p.view_b(b.data()), slices);
        const BatchBlocks<T> batch2(runtime, p.view_a(a2.data()), slices);
        const BatchBlocks<T> sides2(runtime, p.view_b(b2.data()), slices);
        const auto failed = Array<Index>::wrap(runtime, info.data(), p.count);
        const auto failed2 = Array<Index>::wrap(runtime, info2.data(), p.count);
        batch_cholesky_factor(runtime, p.triangle, batch, failed);
        batch_cholesky_solve(runtime, p.triangle, batch, sides);
        batch_cholesky_factor_solve(runtime, p.triangle, batch2, sides2, failed2);
        runtime.wait();
    }
    CHECK(info == p.info);
    CHECK(info2 == p.info);
    CHECK(p.near(a, p.l));
    CHECK(p.near(b, p.x));
    CHECK(p.near(a2, p.l));
    CHECK(p.near(b2, p.x));
}

}  // namespace basalt_tests
