// Ours, through the public API: two outputs a column, one for even steps and one for odd ones. A task reads its inputs
// among those of the other parity and writes its own; the runtime finds the dependencies. An output that is only
// written gets fresh memory while the old contents are still read (renaming); one that is read and written waits for
// its readers, as in OpenMP.
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <basalt/array.hpp>
#include <basalt/recording.hpp>
#include <basalt/runtime.hpp>

#include "bench/common/clock.hpp"
#include "bench/task_bench/task_systems.hpp"

namespace bench {

namespace {

using Outputs = std::vector<basalt::Array<TaskOutput>>;

template <std::size_t>
using InputView = basalt::View<const TaskOutput>;

/// Submits the tasks of a grid.
class GridTasks {
  public:
    GridTasks(basalt::Runtime& runtime, OutputAccess access) : runtime_(runtime), access_(access) {}

    std::array<Outputs, 2> make_outputs(const TaskGrid& grid) {
        std::array<Outputs, 2> outputs;
        for (Outputs& columns : outputs) {
            for (int c = 0; c < grid.width(); ++c) columns.emplace_back(runtime_, 1);
        }
        return outputs;
    }
    /// `work()` is the work as the kernels find it when they run.
    template <class FindWork>
    void submit_all(const TaskGrid& grid, const FindWork& work, const std::array<Outputs, 2>& outputs) {
        for (const GridTask& task : grid.tasks()) {
            const auto parity = static_cast<std::size_t>(task.step % 2);
            submit({grid, task, outputs[1 - parity], outputs[parity][static_cast<std::size_t>(task.column)]}, work);
        }
    }

  private:
    using Output = basalt::Array<TaskOutput>;
    struct Call {
        const TaskGrid& grid;
        const GridTask& task;
        const Outputs& before;
        const Output& output;
    };

    template <class FindWork>
    void submit(const Call& call, const FindWork& work) {
        switch (call.task.inputs) {
            case 0: return submit(call, work, std::make_index_sequence<0>{});
            case 1: return submit(call, work, std::make_index_sequence<1>{});
            case 2: return submit(call, work, std::make_index_sequence<2>{});
            case 3: return submit(call, work, std::make_index_sequence<3>{});
            case 4: return submit(call, work, std::make_index_sequence<4>{});
            case 5: return submit(call, work, std::make_index_sequence<5>{});
            default: return submit_list(call, work);
        }
    }

    /// A known number of accesses: the kernel takes a view for each.
    template <class FindWork, std::size_t... I>
    void submit(const Call& call, const FindWork& work, std::index_sequence<I...>) {
        [[maybe_unused]] const auto columns = call.grid.inputs(call.task);
        runtime_.submit({}, read(call.before[static_cast<std::size_t>(columns[I])])..., own(call.output),
                        [work, &task = call.task](InputView<I>... inputs, basalt::View<TaskOutput> output) {
                            const std::array<const TaskOutput*, sizeof...(I)> addresses{inputs.data()...};
                            work().run(
                                task, [&](std::size_t k) { return addresses[k]; }, output[0]);
                        });
    }

    /// Any number: the kernel takes the addresses.
    template <class FindWork>
    void submit_list(const Call& call, const FindWork& work) {
        list_.clear();
        for (const std::int32_t column : call.grid.inputs(call.task)) {
            list_.read(call.before[static_cast<std::size_t>(column)]);
        }
        list_.add(own(call.output));
        runtime_.submit({}, list_, [work, &task = call.task](const basalt::Addresses& addresses) {
            work().run(
                task, [&](std::size_t k) { return static_cast<const TaskOutput*>(addresses[k]); },
                *static_cast<TaskOutput*>(addresses.back()));
        });
    }

    basalt::Access<TaskOutput> own(const Output& output) const {
        return access_ == OutputAccess::write ? write(output) : readwrite(output);
    }

    basalt::Runtime& runtime_;
    const OutputAccess access_;
    basalt::AccessList list_;
};

class BasaltGrid final : public GridSystem {
  public:
    BasaltGrid(int workers, OutputAccess access) : runtime_({.workers = workers}), tasks_(runtime_, access) {}

    double run(const Work& work) override {
        const std::array<Outputs, 2> outputs = tasks_.make_outputs(work.grid());
        const Stopwatch watch;
        tasks_.submit_all(
            work.grid(), [&work]() -> const Work& { return work; }, outputs);
        runtime_.wait();
        return watch.elapsed().wall;
    }

  private:
    basalt::Runtime runtime_;
    GridTasks tasks_;
};

/// Tasks name those that they follow, as Taskflow's asynchronous ones do, and write a slot of their own.
class AfterGrid final : public GridSystem {
  public:
    explicit AfterGrid(int workers) : runtime_({.workers = workers}) {}

    double run(const Work& work) override {
        const TaskGrid& grid = work.grid();
        std::vector<TaskSlot> outputs(grid.tasks().size());
        std::vector<basalt::TaskHandle> tasks, inputs;
        tasks.reserve(grid.tasks().size());
        const Stopwatch watch;
        for (const GridTask& task : grid.tasks()) {
            inputs.clear();
            for (const std::int32_t column : grid.inputs(task))
                inputs.push_back(tasks[grid.number(task.step - 1, column)]);
            tasks.push_back(runtime_.submit({}, after(inputs), [&work, &task, &outputs] { work.run(task, outputs); }));
        }
        runtime_.wait();
        return watch.elapsed().wall;
    }

  private:
    basalt::Runtime runtime_;
};

/// The grid is recorded at its first run. What is timed is a run of the recording.
class ReplayGrid final : public GridSystem {
  public:
    explicit ReplayGrid(int workers) : runtime_({.workers = workers}), tasks_(runtime_, OutputAccess::readwrite) {}

    double run(const Work& work) override {
        work_ = &work;
        if (grid_ != &work.grid()) record(work.grid());
        const Stopwatch watch;
        recording_->run();
        runtime_.wait();
        return watch.elapsed().wall;
    }

  private:
    void record(const TaskGrid& grid) {
        outputs_ = tasks_.make_outputs(grid);
        recording_.emplace(runtime_, [&] {
            tasks_.submit_all(
                grid, [this]() -> const Work& { return *work_; }, outputs_);
        });
        grid_ = &grid;
    }

    basalt::Runtime runtime_;
    GridTasks tasks_;
    const Work* work_ = nullptr;  ///< of the present run
    const TaskGrid* grid_ = nullptr;
    std::array<Outputs, 2> outputs_;
    std::optional<basalt::Recording> recording_;
};

}  // namespace

std::unique_ptr<GridSystem> make_after_grid(int workers) { return std::make_unique<AfterGrid>(workers); }
std::unique_ptr<GridSystem> make_replay_grid(int workers) { return std::make_unique<ReplayGrid>(workers); }

std::unique_ptr<GridSystem> make_basalt_grid(int workers, OutputAccess access) {
    return std::make_unique<BasaltGrid>(workers, access);
}

}  // namespace bench
