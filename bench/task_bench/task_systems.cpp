#include "bench/task_bench/task_systems.hpp"

#include <stdexcept>

#include "bench/common/clock.hpp"

namespace bench {

namespace {

/// One thread, in program order, without tasks: what the kernels themselves cost.
class SerialGrid final : public GridSystem {
  public:
    double run(const Work& work) override {
        const auto width = static_cast<std::size_t>(work.grid().width());
        std::vector<TaskSlot> outputs(2 * width);
        const Stopwatch watch;
        for (const GridTask& task : work.grid().tasks()) {
            TaskSlot* own = &outputs[task.step % 2 != 0 ? width : 0];
            const TaskSlot* before = &outputs[task.step % 2 != 0 ? 0 : width];
            const auto columns = work.grid().inputs(task);
            work.run(
                task, [&](std::size_t k) { return &before[columns[k]].output; }, own[task.column].output);
        }
        return watch.elapsed().wall;
    }
};

}  // namespace

const std::vector<std::string>& grid_system_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all{"basalt", "basalt_readwrite", "basalt_after", "basalt_replay",
                                     "openmp", "onetbb",           "onetbb_reused"};
        if (has_taskflow()) all.insert(all.end(), {"taskflow", "taskflow_async"});
        all.emplace_back("serial");
        return all;
    }();
    return names;
}

std::unique_ptr<GridSystem> make_grid_system(const std::string& name, int workers) {
    if (name == "basalt") return make_basalt_grid(workers, OutputAccess::write);
    if (name == "basalt_readwrite") return make_basalt_grid(workers, OutputAccess::readwrite);
    if (name == "basalt_after") return make_after_grid(workers);
    if (name == "basalt_replay") return make_replay_grid(workers);
    if (name == "openmp") return make_openmp_grid(workers);
    if (name == "onetbb") return make_onetbb_grid(workers, FlowGraph::built);
    if (name == "onetbb_reused") return make_onetbb_grid(workers, FlowGraph::reused);
    if (name == "taskflow" && has_taskflow()) return make_taskflow_grid(workers, TaskflowTasks::graph);
    if (name == "taskflow_async" && has_taskflow()) return make_taskflow_grid(workers, TaskflowTasks::asynchronous);
    if (name == "serial") return std::make_unique<SerialGrid>();
    throw std::invalid_argument("no system is called '" + name + "'");
}

}  // namespace bench
