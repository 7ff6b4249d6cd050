#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "basalt/array.hpp"
#include "tests/random_graph/guard.hpp"

namespace basalt_tests {

/// What a task of a random graph throws.
struct Thrown : std::runtime_error {
    explicit Thrown(int id) : std::runtime_error("thrown on purpose"), id(id) {}
    int id;
};

/// A datum of a program, registered with a runtime.
struct LiveDatum {
    basalt::Array<Cell> array;
    basalt::detail::DatumHandle plane;
    std::vector<Cell> memory;  ///< of those that the runtime does not own

    basalt::detail::Datum* handle() const {
        return plane.get() != nullptr ? plane.get() : array.rows(0, 0).datum;
    }
};

/// One run of a program through a runtime: submits its tasks and is their kernel.
class Execution {
  public:
    Execution(basalt::Runtime& runtime, const Program& program)
        : runtime_(runtime),
          program_(program),
          states_(static_cast<std::size_t>(program.all_tasks)),
          data_(program.data.size()) {
        for (std::size_t d = 0; d < data_.size(); ++d) register_datum(program.data[d], data_[d]);
    }

    void submit(const TaskSpec& task);
    /// The kernel: one member's share of the task.
    void perform(const TaskSpec& task, const basalt::Team& team, const std::vector<CellView>& views);

    /// Waits for the datum and returns its contents.
    std::vector<Cell> look_at(std::size_t datum) {
        LiveDatum& live = data_[datum];
        const void* base = live.plane.get() != nullptr ? basalt::detail::wait_datum(live.plane)
                                                       : live.array.host_view().data();
        const auto* cells = static_cast<const Cell*>(base);
        const DatumSpec& spec = program_.data[datum];
        std::vector<Cell> copy(static_cast<std::size_t>(spec.rows * spec.cols));
        std::copy_n(cells, copy.size(), copy.begin());
        return copy;
    }

    int runs(int task) const { return state(task).runs.load(); }
    bool thrown(int task) const { return state(task).thrown.load(); }
    Hashes hashes(int task) const {
        const State& s = state(task);
        return {{s.read[0].load(), s.read[1].load()}, s.local};
    }

    /// The first thing that a kernel found wrong, or nothing.
    std::string complaint() const {
        const std::lock_guard guard(complaint_lock_);
        return complaint_;
    }

  private:
    struct State {
        std::atomic<int> runs{0};
        std::atomic<int> inside{0};
        std::atomic<bool> thrown{false};
        std::atomic<std::uint64_t> read[2] = {0, 0};
        std::uint64_t local = 0;
    };

    /// What is moved into the runtime.
    struct Kernel {
        Execution* execution;
        const TaskSpec* task;

        template <class... Element>
        void operator()(const basalt::Team& team, basalt::View<Element>... views) const {
            execution->perform(*task, team, {views...});
        }
    };
    struct ListKernel {
        Execution* execution;
        const TaskSpec* task;
        std::vector<CellView> views;
        void operator()(const basalt::Team& team) const { execution->perform(*task, team, views); }
    };

    const State& state(int task) const { return states_[static_cast<std::size_t>(task)]; }
    State& state(int task) { return states_[static_cast<std::size_t>(task)]; }

    void register_datum(const DatumSpec& spec, LiveDatum& live) {
        const auto elements = static_cast<std::size_t>(spec.rows * spec.cols);
        if (!may_be_renamed(spec)) live.memory.assign(elements, Cell{0, 0});
        switch (spec.kind) {
            case DatumKind::owned:
                live.array = basalt::Array<Cell>(runtime_, spec.rows, "owned");
                break;
            case DatumKind::wrapped:
                live.array = basalt::Array<Cell>::wrap(runtime_, live.memory.data(), spec.rows, "wrapped");
                break;
            case DatumKind::owned_plane:
            case DatumKind::plane: {
                const bool owned = may_be_renamed(spec);
                const auto storage =
                    owned ? basalt::detail::Storage::owned : basalt::detail::Storage::borrowed;
                live.plane = basalt::detail::DatumHandle(
                    runtime_.engine(),
                    basalt::detail::create_datum(runtime_.engine(), owned ? nullptr : live.memory.data(),
                                                 sizeof(Cell), spec.rows, spec.cols, storage, "plane"));
            }
        }
    }

    basalt::Access<Cell> access(const AccessSpec& spec) const {
        const basalt::Index cols = program_.data[static_cast<std::size_t>(spec.datum)].cols;
        return {{data_[static_cast<std::size_t>(spec.datum)].handle(), spec.row_begin, spec.row_end,
                 spec.col_begin, spec.col_end, spec.mode},
                spec.row_begin * cols + spec.col_begin,
                spec.row_end - spec.row_begin,
                spec.col_end - spec.col_begin,
                cols,
                1};
    }

    template <std::size_t... I>
    void submit_with_views(const basalt::TaskOptions& options, const TaskSpec& task,
                           std::index_sequence<I...>) {
        if (task.accesses.size() != sizeof...(I)) {
            if constexpr (sizeof...(I) < 8) {
                return submit_with_views(options, task, std::make_index_sequence<sizeof...(I) + 1>{});
            }
            throw std::logic_error("the generator made a task with too many accesses");
        }
        runtime_.submit(options, access(task.accesses[I])..., Kernel{this, &task});
    }

    void submit_with_list(const basalt::TaskOptions& options, const TaskSpec& task) {
        basalt::AccessList list;
        ListKernel kernel{this, &task, {}};
        for (const AccessSpec& spec : task.accesses) {
            const basalt::Access<Cell> a = access(spec);
            list.add(a);
            kernel.views.push_back(
                a.view(const_cast<Cell*>(data_[static_cast<std::size_t>(spec.datum)].memory.data())));
        }
        runtime_.submit(options, list, std::move(kernel));
    }

    void complain(const TaskSpec& task, const std::string& what) {
        const std::lock_guard guard(complaint_lock_);
        if (complaint_.empty()) complaint_ = "task " + std::to_string(task.id) + ": " + what;
    }

    void enter(const TaskSpec& task, const basalt::Team& team);
    void work(const TaskSpec& task, const basalt::Team& team, const std::vector<CellView>& views, int round);
    void run_local_steps(const TaskSpec& task);
    void run_children(const TaskSpec& task);
    void wait_for_children(const TaskSpec& task);

    basalt::Runtime& runtime_;
    const Program& program_;
    std::vector<State> states_;
    mutable std::mutex complaint_lock_;
    std::string complaint_;
    std::vector<LiveDatum> data_;  // last: destroyed first, which waits for the tasks
};

inline void Execution::submit(const TaskSpec& task) {
    const basalt::TaskOptions options{
        .name = "node", .priority = task.priority, .threads = task.threads, .tile = {task.id, -1, -1}};
    if (task.as_list) {
        submit_with_list(options, task);
    } else {
        submit_with_views(options, task, std::index_sequence<>{});
    }
}

inline void Execution::perform(const TaskSpec& task, const basalt::Team& team,
                               const std::vector<CellView>& views) {
    enter(task, team);
    work(task, team, views, 0);
    if (task.throws && team.rank() == task.id % team.size()) {
        state(task.id).thrown = true;
        throw Thrown(task.id);
    }
    if (task.cancels && team.rank() == 0) runtime_.cancel();
    if (team.rank() == task.id % team.size()) {
        run_local_steps(task);
        run_children(task);
        if (task.works_again) wait_for_children(task);
    }
    if (task.works_again) {
        team.barrier();
        work(task, team, views, 1);
    } else if (team.rank() % 2 == 0) {
        team.barrier();  // the others have left, or will
    }
}

inline void Execution::enter(const TaskSpec& task, const basalt::Team& team) {
    State& s = state(task.id);
    if (team.rank() == 0 && s.runs.fetch_add(1) != 0) complain(task, "ran twice");
    s.inside.fetch_add(1);
    team.barrier();
    if (s.inside.load() != team.size()) complain(task, "not all members of the gang were inside");
    const int most = std::min(task.threads.max, runtime_.workers());
    const int least = task.depth == 0 ? std::min(task.threads.min, most) : 1;
    if (team.size() < least || team.size() > most)
        complain(task, "the gang has a size that was not asked for");
    team.barrier();
}

inline void Execution::work(const TaskSpec& task, const basalt::Team& team,
                            const std::vector<CellView>& views, int round) {
    std::unique_ptr<Guard> guard;
    if (team.rank() == 0) {
        guard = std::make_unique<Guard>(task, views);
        if (guard->violated()) complain(task, "somebody else uses what it accesses");
    }
    const Work work(task, round);
    std::uint64_t sum = 0;
    for (std::size_t k = 0; k < views.size(); ++k) {
        team.barrier();  // accesses of one task may overlap
        sum += work.apply(k, views[k], team.rank(), team.size());
    }
    state(task.id).read[round].fetch_add(sum);
    team.barrier();
    guard.reset();
    team.barrier();  // children come only now
}

/// A chain on an array that nobody else can see.
inline void Execution::run_local_steps(const TaskSpec& task) {
    if (task.local_steps == 0) return;
    basalt::Array<std::uint64_t> local(runtime_, 1, "local");
    for (int step = 0; step < task.local_steps; ++step) {
        runtime_.submit({.name = "local"}, readwrite(local),
                        [step](basalt::View<std::uint64_t> x) { x[0] = local_step(x[0], step); });
    }
    state(task.id).local = local.host_view()[0];
}

inline void Execution::run_children(const TaskSpec& task) {
    for (std::size_t i = 0; i < task.children.size(); ++i) {
        submit(task.children[i]);
        if (task.waits_after[i]) wait_for_children(task);
    }
}

inline void Execution::wait_for_children(const TaskSpec& task) {
    try {
        runtime_.wait();
    } catch (const basalt::Error&) {
        if (!task.catches) throw;
    }
}

}  // namespace basalt_tests
