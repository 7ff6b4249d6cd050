#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/random_graph/causes.hpp"
#include "tests/runtime/random_graph/generate.hpp"
#include "tests/runtime/random_graph/oracle.hpp"
#include "tests/runtime/random_graph/perform.hpp"

namespace basalt_tests {

/// Runs the random program of a seed through a runtime and serially, and compares.
class GraphCheck {
  public:
    GraphCheck(basalt::Runtime& runtime, std::uint64_t seed, Devices devices = {})
        : runtime_(runtime),
          program_(Generator(seed, devices).program()),
          oracle_(program_),
          causes_(program_),
          execution_(runtime, program_),
          outcomes_(static_cast<std::size_t>(program_.graphs), Outcome::finished),
          expected_looks_(program_.tasks.size()),
          random_(~seed) {}

    /// What went wrong, or nothing.
    std::string run() {
        for (std::size_t i = 0; i < program_.tasks.size(); ++i) {
            oracle_.run(program_.tasks[i]);
            causes_.add(i);
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
        for (int g = 0; g < program_.graphs; ++g) wait(g);
        for (int g = 0; g < program_.graphs; ++g) check_outcome(g);
        if (complaint_.empty()) complaint_ = execution_.complaint();
        if (complaint_.empty()) compare();
        return complaint_;
    }

  private:
    /// How a graph ended: the first thing that a wait() for it told.
    enum class Outcome { finished, failed, cancelled, lacked_data };

    bool all_finished() const {
        return std::all_of(outcomes_.begin(), outcomes_.end(), [](Outcome o) { return o == Outcome::finished; });
    }

    void complain(const std::string& what) {
        const std::lock_guard guard(lock_);
        if (complaint_.empty()) complaint_ = what;
    }

    void submit_all(int thread) {
        for (std::size_t i = 0; i < program_.tasks.size(); ++i) {
            if (program_.thread_of[i] != thread) continue;
            const auto here = execution_.use_graph(program_.tasks[i].graph);
            if (static_cast<int>(i) == program_.cancel_before) runtime_.cancel();
            execution_.submit(program_.tasks[i]);
            for (std::size_t e = 0; e < program_.errands[i].size(); ++e) run_errand(i, e);
        }
        if (program_.threads > 1 && program_.waits_in_threads) wait(thread % program_.graphs);
    }

    void run_errand(std::size_t i, std::size_t number) {
        const Errand& errand = program_.errands[i][number];
        const auto datum = static_cast<std::size_t>(errand.datum);
        const std::vector<Cell>& expected = expected_looks_[i][number];
        switch (errand.kind) {
            case Errand::look: compare_look(i, datum, look_at(datum), expected); break;
            case Errand::renew: {
                // memory that comes home may have no contents: after failures the test writes them
                const std::vector<Cell> left = execution_.renew(datum, program_.fails ? &expected : nullptr);
                if (belongs_to_test(program_.data[datum]) && !program_.fails) compare_look(i, datum, left, expected);
                break;
            }
            case Errand::prefetch:
            case Errand::broadcast:
            case Errand::fetch:
            case Errand::leave: execution_.submit_errand(errand); break;
            case Errand::wait: runtime_.wait();
        }
    }

    /// The datum's contents; nothing where the runtime says that there are none.
    std::optional<std::vector<Cell>> look_at(std::size_t datum) {
        try {
            return execution_.look_at(datum);
        } catch (const basalt::DataError& error) {
            check_cause(error.what(), std::nullopt);
            if (!program_.fails) complain(std::string("no task fails, but: ") + error.what());
            return std::nullopt;
        }
    }

    /// What is there is right, whatever failed elsewhere.
    void compare_look(std::size_t i, std::size_t datum, const std::optional<std::vector<Cell>>& found,
                      const std::vector<Cell>& expected) {
        if (found && !execution_.caught() && !same(*found, expected)) {
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

    void wait(int graph) {
        const auto here = execution_.use_graph(graph);
        Outcome outcome = Outcome::finished;
        try {
            if (graph % 2 == 0 && program_.threads == 1 && random_.one_in(4)) {
                while (!runtime_.wait_for(std::chrono::microseconds(100))) {
                }
            } else {
                runtime_.wait();
            }
        } catch (const basalt::TaskError& error) {
            check_error(graph, error);
            outcome = Outcome::failed;
        } catch (const basalt::Cancelled&) {
            outcome = Outcome::cancelled;
        } catch (const basalt::DataError& error) {
            check_cause(error.what(), number_behind(error.what(), "task node("));
            outcome = Outcome::lacked_data;
        }
        const std::lock_guard guard(lock_);
        Outcome& known = outcomes_[static_cast<std::size_t>(graph)];
        if (known == Outcome::finished) known = outcome;
    }

    void check_outcome(int graph) {
        const std::string label = "graph " + std::to_string(graph);
        try {
            const auto here = execution_.use_graph(graph);
            runtime_.wait();
        } catch (...) {
            complain(label + ": a second wait() threw");
        }
        const Outcome outcome = outcomes_[static_cast<std::size_t>(graph)];
        const bool failed = any_task_of(graph, [&](const TaskSpec& task) { return execution_.thrown(task.id); });
        const bool cancelled = any_task_of(graph, [&](const TaskSpec& task) { return cancelled_in(task); });
        // errors of children may be caught by their parents; those of the program's own tasks never are
        const bool told = outcome == Outcome::failed || outcome == Outcome::lacked_data;  // the first error counts
        if (failed && !told && !cancelled) complain(label + ": no wait() threw its task's error");
        if (cancelled && outcome == Outcome::finished) complain(label + ": it was cancelled and no wait() told");
        if (outcome == Outcome::cancelled && !cancelled && !was_cancelled_outside(graph)) {
            complain(label + ": wait() threw Cancelled");
        }
        // of several threads that wait for one graph, another one may have taken its first error
        if (outcome == Outcome::lacked_data && program_.threads == 1 && all_others_finished(graph)) {
            complain(label + ": wait() threw DataError though nothing failed elsewhere");
        }
        if (outcome == Outcome::cancelled && !cancelled && program_.threads == 1) check_cancelled_outside(graph);
    }

    template <class Predicate>
    bool any_task_of(int graph, const Predicate& predicate) const {
        return std::any_of(program_.tasks.begin(), program_.tasks.end(),
                           [&](const TaskSpec& task) { return task.graph == graph && predicate(task); });
    }
    bool all_others_finished(int graph) const {
        for (int g = 0; g < program_.graphs; ++g) {
            if (g != graph && outcomes_[static_cast<std::size_t>(g)] != Outcome::finished) return false;
        }
        return true;
    }
    /// Whether the program's submitting thread calls cancel(), which has no effect while the graph is idle.
    bool was_cancelled_outside(int graph) const {
        return program_.cancel_before >= 0 &&
               program_.tasks[static_cast<std::size_t>(program_.cancel_before)].graph == graph;
    }
    void check_cancelled_outside(int graph) {
        for (auto i = static_cast<std::size_t>(program_.cancel_before); i < program_.tasks.size(); ++i) {
            const TaskSpec& task = program_.tasks[i];
            if (task.graph == graph && execution_.runs(task.id) != 0) {
                complain("task " + std::to_string(task.id) + " ran although the graph was cancelled before");
            }
        }
    }
    bool cancelled_in(const TaskSpec& task) const {
        if (task.cancels && execution_.runs(task.id) > 0) return true;
        return std::any_of(task.children.begin(), task.children.end(),
                           [&](const TaskSpec& child) { return cancelled_in(child); });
    }

    void check_error(int graph, const basalt::TaskError& error) {
        try {
            std::rethrow_exception(error.cause());
        } catch (const Thrown& thrown) {
            const bool in_graph = any_task_of(graph, [&](const TaskSpec& task) { return is_in(task, thrown.id); });
            if (!execution_.thrown(thrown.id) || !in_graph) complain("wait() threw what no task of the graph threw");
            const std::string label = "node(" + std::to_string(thrown.id) + ")";
            if (error.task() != label) complain("the error of " + label + " names task " + error.task());
        } catch (const std::exception& other) {
            complain(std::string("wait() threw an error whose cause is: ") + other.what());
        }
    }

    static std::optional<int> number_behind(const std::string& text, const std::string& mark) {
        const std::size_t found = text.find(mark);
        return found == std::string::npos ? std::nullopt : std::optional(std::atoi(text.c_str() + found + mark.size()));
    }

    /// What has no contents names as the cause a task that did not do its work, and on which the contents depend: what
    /// the task `reader` reads, or anything that the program has computed. (With several threads, there are several
    /// program orders.)
    void check_cause(const std::string& text, std::optional<int> reader) {
        const std::string mark = "has no valid contents: ";
        const std::size_t begin = text.find(mark);
        const auto cause = begin == std::string::npos ? std::nullopt : number_behind(text.substr(begin), "node(");
        if (!cause && text.find("task fetch did not run", begin) != std::string::npos) return;  // an errand
        if (!cause) return complain("a DataError names no cause: " + text);
        const auto did_not_work = [&](const TaskSpec& task) {
            return execution_.runs(task.id) == 0 || execution_.thrown(task.id) || task.cancels ||
                   task.local_steps > 0 || !task.children.empty();
        };
        const TaskSpec* task = find(program_.tasks, *cause);
        if (task == nullptr || !did_not_work(*task)) {
            // a task that runs in a graph that was cancelled meanwhile may be named, too
            return complain("a DataError names a task that did its work: " + text);
        }
        if (!reader || program_.threads > 1 || runtime_.gpus() > 0) return;
        if (!causes_.reach(top_of(*reader), top_of(*cause),
                           [&](std::size_t t) { return did_not_work(program_.tasks[t]); })) {
            complain("the contents do not depend on the cause that is named: " + text);
        }
    }

    static const TaskSpec* find(const std::vector<TaskSpec>& tasks, int id) {
        for (const TaskSpec& task : tasks) {
            if (task.id == id) return &task;
            if (const TaskSpec* child = find(task.children, id)) return child;
        }
        return nullptr;
    }
    std::size_t top_of(int id) const {
        const auto top = std::find_if(program_.tasks.begin(), program_.tasks.end(),
                                      [&](const TaskSpec& task) { return is_in(task, id); });
        return static_cast<std::size_t>(top - program_.tasks.begin());
    }

    static bool is_in(const TaskSpec& task, int id) {
        return task.id == id || std::any_of(task.children.begin(), task.children.end(),
                                            [&](const TaskSpec& child) { return is_in(child, id); });
    }

    void compare() {
        for (std::size_t i = 0; i < program_.tasks.size(); ++i) {
            compare_task(program_.tasks[i]);
            if (execution_.thrown(program_.tasks[i].id)) check_dependants(i);
        }
        for (std::size_t d = 0; d < program_.data.size(); ++d) {
            const auto found = look_at(d);
            if (found && !execution_.caught() && !same(*found, oracle_.contents(d))) {
                complain("datum " + std::to_string(d) + " is wrong");
            }
        }
    }

    void compare_task(const TaskSpec& task) {
        const int runs = execution_.runs(task.id);
        const std::string label = "task " + std::to_string(task.id);
        if (all_finished() && !execution_.caught() ? runs != 1 : runs > 1) {
            complain(label + " ran " + std::to_string(runs) + " times");
        }
        if (all_finished() && !execution_.caught() &&
            !(execution_.hashes(task.id) == oracle_.hashes[static_cast<std::size_t>(task.id)])) {
            complain(label + " read something else than it does serially");
        }
        for (const TaskSpec& child : task.children) compare_task(child);
    }

    /// Nothing of its graph that has to wait for the failed task may have run. (On a device it may be on its way by
    /// then, and with several threads one of them may have waited since.)
    void check_dependants(std::size_t failed) {
        if (program_.tasks[failed].on_gpu || program_.threads > 1) return;
        // data overwritten since, which are perhaps in other memory now
        std::vector<bool> fresh(program_.data.size(), false);
        for (std::size_t i = failed + 1; i < program_.tasks.size(); ++i) {
            const TaskSpec& later = program_.tasks[i];
            if (later.graph != program_.tasks[failed].graph) continue;
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
        if (before.mode == reduce && after.mode == reduce && reduce_together(before, after)) return false;
        const bool both_share =
            (before.mode == read || before.mode == commute) && (after.mode == read || after.mode == commute);
        return !(both_share && commutes(first, before) && commutes(second, after));
    }

    static bool reduce_together(const AccessSpec& a, const AccessSpec& b) {
        return a.row_begin == b.row_begin && a.row_end == b.row_end && a.col_begin == b.col_begin &&
               a.col_end == b.col_end && a.combine == b.combine;
    }

    static bool commutes(const TaskSpec& task, const AccessSpec& on) {
        return std::any_of(task.accesses.begin(), task.accesses.end(), [&](const AccessSpec& access) {
            return access.mode == basalt::AccessMode::commute && overlap(access, on);
        });
    }

    basalt::Runtime& runtime_;
    const Program program_;
    Oracle oracle_;
    Causes causes_;
    Execution execution_;
    std::vector<Outcome> outcomes_;                               ///< of the graphs
    std::vector<std::vector<std::vector<Cell>>> expected_looks_;  // by task and errand
    Random random_;
    std::mutex lock_;  // guards complaint_ and outcomes_ while several threads submit
    std::string complaint_;
};

}  // namespace basalt_tests
