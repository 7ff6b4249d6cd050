#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/task_bench/kernel.hpp"
#include "bench/task_bench/task_grid.hpp"

namespace bench {

/// What a task writes, and the tasks of the next step read. As in Task Bench, 16 bytes that say who wrote them.
struct TaskOutput {
    std::int64_t steps = 0;  ///< step + 1 of the task; 0: not written yet
    std::int64_t column = 0;
};

/// An output on a cache line of its own, for the systems whose user allocates the outputs.
struct alignas(64) TaskSlot {
    TaskOutput output;
};

/// The tasks of a grid with a kernel, and what came out of one run. Every task verifies its inputs.
class Work {
  public:
    enum class Load {
        even,    ///< all tasks have the same number of iterations
        uneven,  ///< between none and all of them: wrong orders become likely
    };

    Work(const TaskGrid& grid, std::int64_t iterations, Load load = Load::even)
        : grid_(grid), iterations_(iterations), load_(load) {}

    const TaskGrid& grid() const { return grid_; }

    /// Runs a task. `input` gives the address of the output of its k-th input. Tasks may run in any thread.
    template <class Input>
    void run(const GridTask& task, const Input& input, TaskOutput& output) const {
        const auto columns = grid_.inputs(task);
        for (std::size_t k = 0; k < columns.size(); ++k) {
            const TaskOutput& found = *input(k);
            if (found.steps != task.step || found.column != columns[k]) wrong_.fetch_add(1, std::memory_order_relaxed);
        }
        if (load_ == Load::even) {
            multiply_add(iterations_);
        } else {
            multiply_add(iterations_ * ((task.step * 7 + task.column * 13) % 16) / 16);
            ran_.fetch_add(1, std::memory_order_relaxed);
        }
        output = {task.step + 1, task.column};
    }

    /// The same where `outputs` has a slot for each task of the grid, by its number.
    void run(const GridTask& task, std::vector<TaskSlot>& outputs) const {
        const auto columns = grid_.inputs(task);
        run(
            task, [&](std::size_t k) { return &outputs[grid_.number(task.step - 1, columns[k])].output; },
            outputs[grid_.number(task.step, task.column)].output);
    }

    /// Inputs that were not those that the pattern names. Read when the run is over.
    std::int64_t wrong() const { return wrong_.load(std::memory_order_relaxed); }
    /// Tasks that ran, counted with an uneven load alone: the counter is shared.
    std::int64_t ran() const { return ran_.load(std::memory_order_relaxed); }

  private:
    const TaskGrid& grid_;
    std::int64_t iterations_;
    Load load_;
    mutable std::atomic<std::int64_t> wrong_{0};
    mutable std::atomic<std::int64_t> ran_{0};
};

/// A task system, which keeps its threads from one run to the next.
class GridSystem {
  public:
    virtual ~GridSystem() = default;
    /// Runs all tasks of the work and returns the seconds from the first submission until the last task is done. What
    /// the system builds from tasks is timed, except by those that build once and run often; allocating the outputs is
    /// not.
    virtual double run(const Work& work) = 0;
};

/// The systems of this build: basalt, basalt_readwrite, basalt_after, basalt_replay, openmp, onetbb, onetbb_reused,
/// taskflow and taskflow_async if the build found its header, serial.
const std::vector<std::string>& grid_system_names();
/// `workers` counts all threads that run tasks; serial has one. Throws std::invalid_argument for another name.
std::unique_ptr<GridSystem> make_grid_system(const std::string& name, int workers);

/// How Basalt's tasks access their outputs.
enum class OutputAccess { write, readwrite };
std::unique_ptr<GridSystem> make_basalt_grid(int workers, OutputAccess access);
/// Ours with tasks that name those they follow.
std::unique_ptr<GridSystem> make_after_grid(int workers);
/// Ours with a grid that is recorded at its first run, which takes longer; a run of the recording is timed.
std::unique_ptr<GridSystem> make_replay_grid(int workers);
std::unique_ptr<GridSystem> make_openmp_grid(int workers);
/// Whether oneTBB's graph is built in each run, or once, at the first one, which takes longer.
enum class FlowGraph { built, reused };
std::unique_ptr<GridSystem> make_onetbb_grid(int workers, FlowGraph graph);
/// A graph that is built before it runs, or tasks that run while further ones are made.
enum class TaskflowTasks { graph, asynchronous };
/// nullptr where the build found no Taskflow.
std::unique_ptr<GridSystem> make_taskflow_grid(int workers, TaskflowTasks tasks);
bool has_taskflow();

}  // namespace bench
