// What the blocks of a whole triangle's substitution do, thread by thread on the host, against plain loops.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cuda/triangle/whole.hpp"
#include "tests/common/catch.hpp"
#include "tests/kernels/emulated_block.hpp"
#include "tests/kernels/whole_triangle.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

/// Blocks one after the other, as tickets come.
template <MatrixOp op, class T>
void run(const WholeTriangleProblem<T>& problem, View<T> x, bool backwards) {
    const TriangleColumns<T> t = problem.on(problem.a.values.data(), problem.inverses.data());
    const auto memory = std::make_unique<cuda_detail::WholeMemory<T>>();
    for (Index c = 0; c < x.cols(); ++c) {
        std::vector<std::uint64_t> exchange(static_cast<std::size_t>(cuda_detail::WholeExchange<T>::words(t.order)));
        for (int b = 0; b < cuda_detail::whole_blocks(t.order, t.width); ++b) {
            EmulatedBlock(cuda_detail::whole_warps, backwards).run([&](const EmulatedBlock::Thread& thread) {
                cuda_detail::WholeSubstitution<op, T, EmulatedBlock::Thread>(thread, *memory, t, problem.triangle,
                                                                             &x(0, c), x.row_stride(), exchange.data())
                    .run();
            });
        }
        REQUIRE(exchange.front() == static_cast<std::uint64_t>(cuda_detail::whole_blocks(t.order, t.width)));
    }
}

}  // namespace

TEMPLATE_TEST_CASE("thread blocks solve with a whole triangle", "[kernels]", float, double) {
    bool backwards = false;
    for_whole_triangles<TestType>([&](WholeTriangleProblem<TestType> problem) {
        if (problem.op == MatrixOp::plain) {
            run<MatrixOp::plain>(problem, problem.x.column(0), backwards);
        } else {
            run<MatrixOp::transposed>(problem, problem.x.column(0), backwards);
        }
        REQUIRE(distance(problem.x.values, problem.expected) <= 8 * tolerance<TestType>(problem.order));
        backwards = !backwards;
    });
}
