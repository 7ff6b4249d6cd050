// Cancelling a solution in mixed precision, wherever it is at that moment.
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include "basalt/graph.hpp"
#include "runtime/engine/cancellable_call.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/tasks/mixed/mixed_cases.hpp"
#include "tests/tasks/on_gpus/gpu_machine.hpp"

using namespace basalt;
using namespace basalt_tests;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

/// Cancels its runtime when it is asked for its block number `last`, counted from 1. That is in a task.
class CancellingGenerator final : public Generator<double> {
  public:
    CancellingGenerator(Runtime& runtime, Index n, int last)
        : Generator<double>(n, n), runtime_(runtime), last_(last), random_(make_generator<double>("random", n, n, 5)) {}

    std::string_view name() const override { return "cancelling"; }
    int blocks() const { return blocks_; }

  private:
    void fill_block(View<double> block, Index row0, Index col0) const override {
        if (++blocks_ == last_) runtime_.cancel();
        random_->fill(block, row0, col0);
    }

    Runtime& runtime_;
    const int last_;
    const std::unique_ptr<Generator<double>> random_;
    mutable std::atomic<int> blocks_ = 0;
};

/// Cancels after delays up to the time that a solution takes, and twice that, until all were tried and one had an
/// effect. The answer is right, or the call throws Cancelled and nothing else; so does the next wait() at most.
void check_cancelled_anywhere(Runtime& runtime, const MixedOptions& options, const Dense<double>& a) {
    const Dense<double> b = random_dense<double>(a.n, 1, 131);
    Matrix<double> in_tiles = to_tiles(runtime, a, {64, 64}), right = to_tiles(runtime, b), x(runtime, a.n, 1);
    int cancelled = 0;
    Clock::duration usual{};
    const auto solve = [&](Clock::duration delay) {
        std::promise<Clock::time_point> begun;
        const std::jthread canceller([&runtime, delay, begin = begun.get_future()]() mutable {
            std::this_thread::sleep_until(begin.get() + delay);
            runtime.cancel();
        });
        const Clock::time_point begin = Clock::now();
        begun.set_value(begin);
        try {
            const MixedResult result = mixed_solve(runtime, in_tiles, right, x, options);
            usual = Clock::now() - begin;  // which other work on the machine changes
            return std::optional(result);
        } catch (const Cancelled&) {
            ++cancelled;
            return std::optional<MixedResult>();
        }
    };
    const Clock::time_point begin = Clock::now();
    mixed_solve(runtime, in_tiles, right, x, options);
    usual = Clock::now() - begin;
    constexpr int delays = 60, most_rounds = 20 * delays;
    for (int round = 0; round < delays || (cancelled == 0 && round < most_rounds); ++round) {
        const auto result = solve(round % delays * usual / 30);
        try {
            runtime.wait();
        } catch (const Cancelled&) {
        }
        if (result) check_answer({*result, from_tiles(runtime, x), a}, a, b);
    }
    CHECK(cancelled > 0);
    const MixedResult result = mixed_solve(runtime, in_tiles, right, x, options);
    check_answer({result, from_tiles(runtime, x), from_tiles(runtime, in_tiles)}, a, b);
    CHECK(from_tiles(runtime, in_tiles).values == a.values);
}

}  // namespace

TEST_CASE("cancel() in a task of mixed_solve() ends it with Cancelled", "[mixed][sanitize]") {
    const Watchdog watchdog;
    Runtime runtime(two_workers());
    const Dense<double> b = random_dense<double>(150, 1, 132);
    const Matrix<double> right = to_tiles(runtime, b);
    Matrix<double> x(runtime, 150, 1);
    const auto solve = [&](int last) {
        const auto generator = std::make_shared<CancellingGenerator>(runtime, 150, last);
        mixed_solve(runtime, generator, right, x, {32, 32});
        return generator->blocks();
    };
    const int blocks = solve(0);
    for (int last = 1; last <= blocks; ++last) CHECK_THROWS_AS(solve(last), Cancelled);
    CHECK(solve(0) == blocks);
}

TEST_CASE("cancel() from another thread ends mixed_solve() with Cancelled or comes too late", "[mixed][sanitize]") {
    const Watchdog watchdog;
    Runtime runtime(two_workers());
    check_cancelled_anywhere(runtime, {}, random_dense<double>(200, 200, 133));
    check_cancelled_anywhere(runtime, {.method = MixedMethod::cholesky}, spd(200, 134));
    check_cancelled_anywhere(runtime, {.refinement = Refinement::gmres}, random_dense<double>(200, 200, 135));
    check_cancelled_anywhere(runtime, {.iteration_limit = 0}, random_dense<double>(200, 200, 136));  // falls back
}

TEST_CASE("cancel() ends mixed_solve() on GPUs too", "[mixed][sanitize]") {
    const Watchdog watchdog;
    Runtime runtime(GpuMachine{}.config());
    MixedOptions options{.mode = FactorMode::gpu};
    check_cancelled_anywhere(runtime, options, random_dense<double>(200, 200, 137));
    options.substitution = Substitution::blocked;
    check_cancelled_anywhere(runtime, options, random_dense<double>(200, 200, 138));
    options = {.method = MixedMethod::cholesky, .mode = FactorMode::gpu};
    check_cancelled_anywhere(runtime, options, spd(200, 139));
}

TEST_CASE("cancel() has an effect between the tasks of a call", "[mixed]") {
    Runtime runtime(two_workers());
    runtime.cancel();  // nothing is in flight
    CHECK_FALSE(runtime.cancelled());
    Graph part(runtime);
    {
        const detail::CancellableCall call(runtime), with_part(runtime, part);
        runtime.cancel();
        CHECK(runtime.cancelled());
        CHECK(part.cancelled());
    }
    CHECK_THROWS_AS(part.wait(), Cancelled);
    CHECK_THROWS_AS(runtime.wait(), Cancelled);
    const auto cancelled_at_its_end = [&] {
        return detail::cancellable(runtime, [&] {
            runtime.cancel();
            return 1;
        });
    };
    CHECK_THROWS_AS(cancelled_at_its_end(), Cancelled);
    CHECK_FALSE(runtime.cancelled());
}
