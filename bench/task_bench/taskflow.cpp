// Taskflow, with an edge from each input, as for oneTBB: a graph that the calling thread builds before `workers`
// threads run it, or asynchronous tasks that these run while the calling thread makes further ones.
#include <vector>

#include <taskflow/taskflow.hpp>

#include "bench/common/clock.hpp"
#include "bench/task_bench/task_systems.hpp"

namespace bench {

namespace {

class TaskflowGrid final : public GridSystem {
  public:
    explicit TaskflowGrid(int workers) : executor_(static_cast<std::size_t>(workers)) {}

    double run(const Work& work) override {
        const TaskGrid& grid = work.grid();
        std::vector<TaskSlot> outputs(grid.tasks().size());
        tf::Taskflow graph;
        std::vector<tf::Task> nodes;
        nodes.reserve(grid.tasks().size());
        const Stopwatch watch;
        for (const GridTask& task : grid.tasks()) {
            tf::Task node = graph.emplace([&work, &task, &outputs] { work.run(task, outputs); });
            for (const std::int32_t column : grid.inputs(task)) nodes[grid.number(task.step - 1, column)].precede(node);
            nodes.push_back(node);
        }
        executor_.run(graph).wait();
        return watch.elapsed().wall;
    }

  private:
    tf::Executor executor_;
};

class TaskflowAsyncGrid final : public GridSystem {
  public:
    explicit TaskflowAsyncGrid(int workers) : executor_(static_cast<std::size_t>(workers)) {}

    double run(const Work& work) override {
        const TaskGrid& grid = work.grid();
        std::vector<TaskSlot> outputs(grid.tasks().size());
        std::vector<tf::AsyncTask> nodes, inputs;
        nodes.reserve(grid.tasks().size());
        const Stopwatch watch;
        for (const GridTask& task : grid.tasks()) {
            inputs.clear();
            for (const std::int32_t column : grid.inputs(task))
                inputs.push_back(nodes[grid.number(task.step - 1, column)]);
            nodes.push_back(executor_.silent_dependent_async([&work, &task, &outputs] { work.run(task, outputs); },
                                                             inputs.begin(), inputs.end()));
        }
        executor_.wait_for_all();
        return watch.elapsed().wall;
    }

  private:
    tf::Executor executor_;
};

}  // namespace

std::unique_ptr<GridSystem> make_taskflow_grid(int workers, TaskflowTasks tasks) {
    if (tasks == TaskflowTasks::asynchronous) return std::make_unique<TaskflowAsyncGrid>(workers);
    return std::make_unique<TaskflowGrid>(workers);
}
bool has_taskflow() { return true; }

}  // namespace bench
