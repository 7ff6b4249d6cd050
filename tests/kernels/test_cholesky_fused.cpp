// A whole Cholesky panel in one kernel: its tasks in the order of their tickets, and what one block does that is alone,
// thread by thread on the host.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/cuda/cholesky/fused.hpp"
#include "tests/kernels/cholesky_kernel_cases.hpp"
#include "tests/kernels/emulated_block.hpp"

using namespace basalt;
using namespace basalt_tests;
namespace block = basalt::cuda_detail::cholesky;

namespace {

/// One block has the chain and does all tasks.
template <int stage_cols>
class LonelyBlock : public CholeskyTwins {
  public:
    explicit LonelyBlock(bool backwards) : backwards_(backwards) {}

    template <class T>
    void cholesky_panel(View<T> panel, Index* info, void*) {
        const block::Squares squares{static_cast<int>(panel.rows()), static_cast<int>(panel.cols())};
        const auto tiles = static_cast<std::size_t>(squares.block_cols() * block::side / block::tile);
        std::vector<T> inverses(tiles * block::tile * block::tile, std::numeric_limits<T>::quiet_NaN());
        std::vector<int> use_inverse(tiles, -1), counters(block::FusedPanel<T>::counters_of(squares));
        const block::FusedPanel<T> fused{panel.data(),    panel.row_stride(), squares,
                                         inverses.data(), use_inverse.data(), counters.data()};
        const auto memory = std::make_unique<block::FusedMemory<T, stage_cols>>();
        const bool wide = panel.row_stride() * Index{sizeof(T)} % 16 == 0;
        EmulatedBlock(block::fused_warps, backwards_).run([&](const EmulatedBlock::Thread& thread) {
            if (wide) {
                block::FusedBlock<true, T, stage_cols, EmulatedBlock::Thread>(thread, *memory, fused).run(info);
            } else {
                block::FusedBlock<false, T, stage_cols, EmulatedBlock::Thread>(thread, *memory, fused).run(info);
            }
        });
    }

  private:
    bool backwards_;
};

/// How far the rows of a panel are, as its tasks and the chain raise the counters.
class Progress {
  public:
    explicit Progress(block::Squares squares)
        : schedule_(squares),
          finished_(static_cast<std::size_t>(squares.block_rows())),
          left_(static_cast<std::size_t>(squares.block_cols())) {}

    void run_task(const block::Task& t) {
        run_chain();
        for (int row = t.row; row < t.row + t.squares; ++row) REQUIRE(finished(row) >= t.depth);
        REQUIRE(finished(t.col) >= t.depth);
        if (!t.solved) {
            ++left_[static_cast<std::size_t>(t.depth)];
            return;
        }
        REQUIRE(t.depth == t.col);
        REQUIRE(finished(t.col) == t.col + 1);
        for (int row = t.row; row < t.row + t.squares; ++row) finish(row, t.col);
    }
    void run_chain() {
        while (chain_ < schedule_.block_cols() && left_[before_chain()] == schedule_.for_chain(chain_ - 1)) {
            if (chain_ > 0) finish(chain_, chain_ - 1);
            finish(chain_, chain_);
            ++chain_;
        }
    }
    int finished(int row) const { return finished_[static_cast<std::size_t>(row)]; }

  private:
    /// Once and from left to right.
    void finish(int row, int col) {
        REQUIRE(finished(row) == col);
        ++finished_[static_cast<std::size_t>(row)];
    }
    std::size_t before_chain() const { return static_cast<std::size_t>(std::max(chain_ - 1, 0)); }

    block::Schedule schedule_;
    std::vector<int> finished_, left_;
    int chain_ = 0;
};

}  // namespace

TEST_CASE("tasks of a Cholesky panel need earlier ones and the chain only, and finish every square once", "[kernels]") {
    for (const int cols : {1, 63, 64, 65, 128, 129, 200, 640, 1000}) {
        for (const int below : {0, 1, 64, 65, 130, 700}) {
            const block::Squares squares{cols + below, cols};
            const block::Schedule schedule(squares);
            INFO(squares.rows << " x " << cols);
            Progress progress(squares);
            for (int col = 0; col < squares.block_cols(); ++col) {
                for (int n = 0; n < schedule.tasks(col); ++n) progress.run_task(schedule.task(col, n));
            }
            progress.run_chain();
            for (int row = 0; row < squares.block_rows(); ++row) {
                REQUIRE(progress.finished(row) == std::min(row + 1, squares.block_cols()));
            }
        }
    }
}

TEST_CASE("block rows of a Cholesky panel cover it without one that is on the diagonal and below", "[kernels]") {
    for (const int cols : {1, 64, 100, 300}) {
        for (const int below : {0, 1, 64, 100}) {
            const block::Squares squares{cols + below, cols};
            REQUIRE(squares.first_row(0) == 0);
            REQUIRE(squares.first_row(squares.block_cols()) == cols);
            REQUIRE(squares.first_row(squares.block_rows()) == squares.rows);
            for (int i = 0; i < squares.block_rows(); ++i) {
                const int rows = squares.first_row(i + 1) - squares.first_row(i);
                REQUIRE(rows > 0);
                REQUIRE(rows <= block::side);
            }
        }
    }
}

TEMPLATE_TEST_CASE("a block that is alone factors a Cholesky panel", "[kernels]", float, double) {
    const auto check = [](auto kernels) {
        check_panels<TestType>(kernels, {{1, 1}, {5, 3}, {64, 64}, {70, 33}, {129, 65}, {300, 200}});
    };
    for (const bool backwards : {false, true}) {
        check(LonelyBlock<block::narrow_stage>(backwards));
        check(LonelyBlock<block::wide_stage>(backwards));
    }
}

TEMPLATE_TEST_CASE("a block that is alone keeps the accuracy of ill-conditioned panels", "[kernels]", float, double) {
    LonelyBlock<block::narrow_stage> kernels(false);
    check_ill_conditioned_panels<TestType>(kernels);
    check_panels_by_substitution<TestType>(kernels);
}

TEMPLATE_TEST_CASE("a block that is alone names the first pivot that is not positive", "[kernels]", float, double) {
    LonelyBlock<block::narrow_stage> kernels(true);
    check_panel_info<TestType>(kernels);
}

TEMPLATE_TEST_CASE("a block that is alone takes denormal and infinite pivots as LAPACK does", "[kernels]", float,
                   double) {
    LonelyBlock<block::narrow_stage> kernels(false);
    check_extreme_panels<TestType>(kernels);
}

TEMPLATE_TEST_CASE("a fused Cholesky panel neither reads nor writes what is right of the diagonal", "[kernels]", float,
                   double) {
    using T = TestType;
    constexpr Index n = 150;
    std::vector<T> values = panel_of(generated<T>("spd", n, n, 3), n, n);
    const auto a = View<T>::row_major(values.data(), n, n, n);
    for (Index i = 0; i < n; ++i) {
        for (Index j = i + 1; j < n; ++j) a(i, j) = std::numeric_limits<T>::quiet_NaN();
    }
    Index info = -1;
    LonelyBlock<block::narrow_stage>(false).cholesky_panel<T>(a, &info, nullptr);
    REQUIRE(info == 0);
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < n; ++j) REQUIRE(std::isnan(a(i, j)) == (j > i));
    }
}
