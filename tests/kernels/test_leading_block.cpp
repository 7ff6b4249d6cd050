// What a team of blocks of the GPU does to the columns that are factored next, thread by thread on the host, against
// plain loops.
#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/cuda/panel/leading_block.hpp"
#include "kernels/cuda/panel/leading_shape.hpp"
#include "tests/kernels/cases/leading_update.hpp"
#include "tests/kernels/emulated_block.hpp"

using namespace basalt;
using namespace basalt_tests;
using namespace basalt::cuda_detail;

namespace {

/// Of one block of several, whose warps are all in one emulated block.
class TeamThread {
  public:
    int warp, warps = leading_warps, lane;

    explicit TeamThread(const EmulatedBlock::Thread& thread)
        : warp(thread.warp % leading_warps), lane(thread.lane), thread_(thread) {}

    void sync() const { thread_.sync(); }
    template <class T>
    void copy(T* to, const T* from) const {
        thread_.copy(to, from);
    }
    void wait_for_copies() const { thread_.wait_for_copies(); }
    template <class... A>
    void mma_16x8x8(A&... a) const {
        thread_.mma_16x8x8(a...);
    }

  private:
    const EmulatedBlock::Thread& thread_;
};

/// Between arrive() and wait() A is not there: what is read of it then is NaN, and what is written is lost.
template <class T>
struct EmulatedTeam {
    const EmulatedBlock::Thread& thread;
    std::vector<T>& a;
    std::vector<T>& kept;

    void arrive() const {
        together([&] {
            kept = a;
            std::fill(a.begin(), a.end(), std::numeric_limits<T>::quiet_NaN());
        });
    }
    void wait() const {
        together([&] { std::copy(kept.begin(), kept.end(), a.begin()); });
    }

  private:
    template <class F>
    void together(const F& f) const {
        thread.sync();
        if (thread.warp == 0 && thread.lane == 0) f();
        thread.sync();
    }
};

template <class T>
void poison(LeadingShared<T>& shared) {
    std::fill(std::begin(shared.u), std::end(shared.u), std::numeric_limits<T>::quiet_NaN());
    std::fill(std::begin(shared.l), std::end(shared.l), std::numeric_limits<T>::quiet_NaN());
    std::fill(std::begin(shared.top), std::end(shared.top), -1);
    std::fill(std::begin(shared.below), std::end(shared.below), -1);
}

template <int units, class T>
void check(int blocks, int rows_a_block, int rows, int order, int cols) {
    for (const std::vector<Index>& pivots : pivot_lists(rows, order)) {
        LeadingProblem<T> problem(rows, order, cols, pivots);
        const View<T> l = problem.l.column(0), a = problem.a.column(0);
        const RowMoves moves = problem.moves();
        const LeadingStrip<T> strip{
            l.data(), static_cast<int>(l.row_stride()), a.data(), static_cast<int>(a.row_stride()), rows, order, cols,
            moves};
        std::vector<LeadingShared<T>> shared(static_cast<std::size_t>(blocks));
        for (auto& memory : shared) poison(memory);
        std::vector<T> kept;
        const bool backwards = order % 64 == 0;
        EmulatedBlock(blocks * leading_warps, backwards).run([&](const EmulatedBlock::Thread& thread) {
            const int rank = thread.warp / leading_warps, begin = order + rank * rows_a_block;
            EmulatedTeam<T> team{thread, problem.a.values, kept};
            update_leading<units>(TeamThread(thread), team, shared[static_cast<std::size_t>(rank)], strip, begin,
                                  std::min(begin + rows_a_block, rows), rank, blocks);
        });
        INFO(blocks << " blocks, " << rows << " rows, order " << order << ", " << cols << " columns");
        REQUIRE(distance(problem.a.values, problem.expected.values) <= 16 * tolerance<T>(order));
    }
}

}  // namespace

TEMPLATE_TEST_CASE("blocks of threads exchange rows, solve and subtract products at once", "[kernels]", float, double) {
    check<1, TestType>(1, 64, 33, 32, 1);
    check<1, TestType>(2, 64, 190, 64, 32);
    check<1, TestType>(3, 32, 170, 96, 17);
    check<2, TestType>(2, 144, 400, 128, 31);
}

TEMPLATE_TEST_CASE("the next columns are updated at once only in shapes that are meant for it", "[kernels]", float,
                   double) {
    alignas(16) TestType memory[4] = {};
    const auto fits = [&](Index rows, Index order, Index l_ld, Index a_ld, Index l_at = 0, Index a_at = 0) {
        return cuda_kernels::leading_shape_fits<TestType>(
            View<const TestType>::row_major(memory + l_at, rows, order, l_ld),
            View<TestType>::row_major(memory + a_at, rows, 40, a_ld));
    };
    for (const Index order : {32, 64, 96, 128}) CHECK(fits(order + 1, order, 128, 40));
    for (const Index order : {0, 8, 31, 40, 104, 160}) CHECK_FALSE(fits(1000, order, 160, 40));
    CHECK(fits(4224, 128, 128, 40));
    CHECK_FALSE(fits(4225, 128, 128, 40));
    CHECK_FALSE(fits(128, 128, 128, 40));
    CHECK_FALSE(fits(1000, 128, 129, 40));
    CHECK_FALSE(fits(1000, 128, 128, 41));
    CHECK_FALSE(fits(1000, 128, 128, 40, 1));
    CHECK_FALSE(fits(1000, 128, 128, 40, 0, 1));
    CHECK(fits(1000, 128, 128, 40, 0, 2));
    const View<const TestType> columns = View<const TestType>::column_major(memory, 1000, 128, 1000);
    CHECK_FALSE(cuda_kernels::leading_shape_fits<TestType>(columns, View<TestType>::row_major(memory, 1000, 40, 40)));
}
