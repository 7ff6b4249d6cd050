// oneTBB's flow graph: a continue_node a task, with an edge from each of its inputs. Every task has an output of its
// own, so that no task overwrites what another one reads. The graph runs once. Building it is timed, destroying it is
// not.
#include <deque>
#include <vector>

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include "bench/common/clock.hpp"
#include "bench/task_bench/task_systems.hpp"

namespace bench {

namespace {

namespace flow = oneapi::tbb::flow;
using Node = flow::continue_node<flow::continue_msg>;

class OneTbbGrid final : public GridSystem {
  public:
    explicit OneTbbGrid(int workers)
        : limit_(oneapi::tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(workers)),
          arena_(workers) {}

    double run(const Work& work) override {
        return arena_.execute([&] { return run_in_arena(work); });
    }

  private:
    static double run_in_arena(const Work& work) {
        const TaskGrid& grid = work.grid();
        std::vector<TaskSlot> outputs(grid.tasks().size());
        flow::graph graph;
        std::deque<Node> nodes;
        std::vector<Node*> roots;
        const Stopwatch watch;
        for (const GridTask& task : grid.tasks()) {
            Node& node = nodes.emplace_back(graph, [&work, &task, &outputs](const flow::continue_msg&) {
                const TaskGrid& all = work.grid();
                const auto columns = all.inputs(task);
                work.run(
                    task, [&](std::size_t k) { return &outputs[all.number(task.step - 1, columns[k])].output; },
                    outputs[all.number(task.step, task.column)].output);
            });
            for (const std::int32_t column : grid.inputs(task)) {
                flow::make_edge(nodes[grid.number(task.step - 1, column)], node);
            }
            if (task.inputs == 0) roots.push_back(&node);
        }
        for (Node* root : roots) root->try_put(flow::continue_msg());
        graph.wait_for_all();
        return watch.elapsed().wall;
    }

    oneapi::tbb::global_control limit_;
    oneapi::tbb::task_arena arena_;
};

}  // namespace

std::unique_ptr<GridSystem> make_onetbb_grid(int workers) { return std::make_unique<OneTbbGrid>(workers); }

}  // namespace bench
