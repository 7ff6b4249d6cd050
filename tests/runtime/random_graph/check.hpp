#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/random_graph/execution.hpp"
#include "tests/runtime/random_graph/generate.hpp"
#include "tests/runtime/random_graph/oracle.hpp"

namespace basalt_tests {

/// Runs the random program of a seed through a runtime and serially, and compares.
class GraphCheck {
  public:
    GraphCheck(basalt::Runtime& runtime, std::uint64_t seed, Devices devices = {})
        : runtime_(runtime),
          program_(Generator(seed, devices).program()),
          oracle_(program_),
          execution_(runtime, program_),
          expected_looks_(program_.tasks.size()),
          random_(~seed) {}

    /// What went wrong, or nothing.
    std::string run() {
        for (std::size_t i = 0; i < program_.tasks.size(); ++i) {
            oracle_.run(program_.tasks[i]);
            for (const Errand& errand : program_.errands[i]) {
                const auto datum = static_cast<std::size_t>(errand.datum);
                const bool looks = errand.kind == Errand::look || errand.kind == Errand::renew;
                expected_looks_[i].push_back(looks ? oracle_.contents(datum) : std::vector<Cell>());
                if (errand.kind == Errand::renew) oracle_.renew(datum);
                if (errand.kind == Errand::fetch) oracle_.fetch(errand.from, errand.to);
            }
        }
        if (program_.threads == 1) {
            submit_all(0);
        } else {
            std::vector<std::thread> threads;
            for (int t = 0; t < program_.threads; ++t) threads.emplace_back([this, t] { submit_all(t); });
            for (std::thread& thread : threads) thread.join();
        }
        wait();
        if (complaint_.empty()) complaint_ = execution_.complaint();
        if (complaint_.empty()) compare();
        return complaint_;
    }

  private:
    bool contents_count() const { return !program_.throws && !program_.cancels; }

    void complain(const std::string& what) {
        const std::lock_guard guard(lock_);
        if (complaint_.empty()) complaint_ = what;
    }

    void submit_all(int thread) {
        for (std::size_t i = 0; i < program_.tasks.size(); ++i) {
            if (program_.thread_of[i] != thread) continue;
            if (static_cast<int>(i) == program_.cancel_before) runtime_.cancel();
            execution_.submit(program_.tasks[i]);
            for (std::size_t e = 0; e < program_.errands[i].size(); ++e) run_errand(i, e);
        }
        if (program_.threads > 1 && program_.waits_in_threads) runtime_.wait();
    }

    void run_errand(std::size_t i, std::size_t number) {
        const Errand& errand = program_.errands[i][number];
        const auto datum = static_cast<std::size_t>(errand.datum);
        const std::vector<Cell>& expected = expected_looks_[i][number];
        switch (errand.kind) {
            case Errand::look: compare_look(i, datum, execution_.look_at(datum), expected); break;
            case Errand::renew: {
                const std::vector<Cell> left = execution_.renew(datum);
                if (belongs_to_test(program_.data[datum])) compare_look(i, datum, left, expected);
                break;
            }
            case Errand::prefetch:
            case Errand::broadcast:
            case Errand::fetch:
            case Errand::leave: execution_.submit_errand(errand); break;
            case Errand::wait: runtime_.wait();
        }
    }

    void compare_look(std::size_t i, std::size_t datum, const std::vector<Cell>& found,
                      const std::vector<Cell>& expected) {
        if (contents_count() && !same(found, expected)) {
            complain("datum " + std::to_string(datum) + " is wrong behind task " +
                     std::to_string(program_.tasks[i].id));
        }
    }

    bool same(const std::vector<Cell>& found, const std::vector<Cell>& expected) const {
        const bool guarded = runtime_.gpus() == 0;  // on devices, writing a cell does not write its guard
        return std::equal(found.begin(), found.end(), expected.begin(), expected.end(),
                          [&](const Cell& x, const Cell& y) {
                              return y.guard != 0 || (x.value == y.value && (x.guard == 0 || !guarded));
                          });
    }

    void wait() {
        try {
            if (random_.one_in(4)) {
                while (!runtime_.wait_for(std::chrono::microseconds(100))) {
                }
            } else {
                runtime_.wait();
            }
            if (must_throw()) complain("wait() returned although a task of the program threw");
            if (must_be_cancelled()) complain("wait() returned although the graph was cancelled");
        } catch (const basalt::TaskError& error) {
            check_error(error);
        } catch (const basalt::Cancelled&) {
            if (!must_be_cancelled()) complain("wait() threw Cancelled");
        }
        try {
            runtime_.wait();
        } catch (...) {
            complain("a second wait() threw");
        }
    }

    /// Errors of children may be caught by their parents; those of the program's own tasks never are.
    bool must_throw() const {
        return std::any_of(program_.tasks.begin(), program_.tasks.end(),
                           [&](const TaskSpec& task) { return execution_.thrown(task.id); });
    }

    bool must_be_cancelled() const {
        if (program_.cancel_before >= 0) return true;
        return std::any_of(program_.tasks.begin(), program_.tasks.end(),
                           [&](const TaskSpec& t) { return cancelled_in(t); });
    }
    bool cancelled_in(const TaskSpec& task) const {
        if (task.cancels && execution_.runs(task.id) > 0) return true;
        return std::any_of(task.children.begin(), task.children.end(),
                           [&](const TaskSpec& child) { return cancelled_in(child); });
    }

    void check_error(const basalt::TaskError& error) {
        try {
            std::rethrow_exception(error.cause());
        } catch (const Thrown& thrown) {
            if (!execution_.thrown(thrown.id)) complain("wait() threw what no task threw");
            const std::string label = "node(" + std::to_string(thrown.id) + ")";
            if (error.task() != label) complain("the error of " + label + " names task " + error.task());
        } catch (const std::exception& other) {
            complain(std::string("wait() threw an error whose cause is: ") + other.what());
        }
    }

    void compare() {
        for (const TaskSpec& task : program_.tasks) compare_task(task);
        for (std::size_t i = 0; i < program_.tasks.size(); ++i) {
            const TaskSpec& task = program_.tasks[i];
            if (program_.cancel_before >= 0 && static_cast<int>(i) >= program_.cancel_before &&
                execution_.runs(task.id) != 0) {
                complain("task " + std::to_string(task.id) + " ran although the graph was cancelled before");
            }
            if (execution_.thrown(task.id)) check_dependants(i);
        }
        if (!contents_count()) return;
        for (std::size_t d = 0; d < program_.data.size(); ++d) {
            if (!same(execution_.look_at(d), oracle_.contents(d))) complain("datum " + std::to_string(d) + " is wrong");
        }
    }

    void compare_task(const TaskSpec& task) {
        const int runs = execution_.runs(task.id);
        const std::string label = "task " + std::to_string(task.id);
        if (contents_count() ? runs != 1 : runs > 1) complain(label + " ran " + std::to_string(runs) + " times");
        if (contents_count() && !(execution_.hashes(task.id) == oracle_.hashes[static_cast<std::size_t>(task.id)])) {
            complain(label + " read something else than it does serially");
        }
        for (const TaskSpec& child : task.children) compare_task(child);
    }

    /// Nothing that has to wait for the failed task may have run. (On a device it may be on its way by then.)
    void check_dependants(std::size_t failed) {
        if (program_.tasks[failed].on_gpu) return;
        // data overwritten since, which are perhaps in other memory now
        std::vector<bool> fresh(program_.data.size(), false);
        for (std::size_t i = failed + 1; i < program_.tasks.size(); ++i) {
            const TaskSpec& later = program_.tasks[i];
            for (const AccessSpec& b : later.accesses) {
                const auto datum = static_cast<std::size_t>(b.datum);
                if (may_be_renamed(program_.data[datum]) && overwrites_all(b)) fresh[datum] = true;
                if (fresh[datum] || execution_.runs(later.id) == 0) continue;
                for (const AccessSpec& a : program_.tasks[failed].accesses) {
                    if (!overlap(a, b) || !ordered(program_.tasks[failed], a, later, b)) continue;
                    complain("task " + std::to_string(later.id) + " ran although it depends on a failed one");
                }
            }
        }
    }

    bool overwrites_all(const AccessSpec& a) const {
        const DatumSpec& datum = program_.data[static_cast<std::size_t>(a.datum)];
        return a.mode == basalt::AccessMode::write && a.row_begin == 0 && a.row_end == datum.rows && a.col_begin == 0 &&
               a.col_end == datum.cols;
    }

    /// Whether sharing excludes the two uses; a task that also commutes on what it reads counts as commuting
    /// there.
    static bool ordered(const TaskSpec& first, const AccessSpec& before, const TaskSpec& second,
                        const AccessSpec& after) {
        using enum basalt::AccessMode;
        if (before.mode == read && after.mode == read) return false;
        const bool both_share =
            (before.mode == read || before.mode == commute) && (after.mode == read || after.mode == commute);
        return !(both_share && commutes(first, before) && commutes(second, after));
    }

    static bool commutes(const TaskSpec& task, const AccessSpec& on) {
        return std::any_of(task.accesses.begin(), task.accesses.end(), [&](const AccessSpec& access) {
            return access.mode == basalt::AccessMode::commute && overlap(access, on);
        });
    }

    basalt::Runtime& runtime_;
    const Program program_;
    Oracle oracle_;
    Execution execution_;
    std::vector<std::vector<std::vector<Cell>>> expected_looks_;  // by task and errand
    Random random_;
    std::mutex lock_;  // guards complaint_ while several threads submit
    std::string complaint_;
};

}  // namespace basalt_tests
