// oneTBB's flow graph: a continue_node a task, with an edge from each of its inputs. Every task has an output of its
// own, so that no task overwrites what another one reads. The graph runs once, and building it is timed, destroying it
// is not; or it is built at the first run, and each further run is timed.
#include <deque>
#include <memory>
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

/// The nodes of a grid.
class NodesOfGrid {
  public:
    /// `work` is that of the present run whenever a node runs.
    NodesOfGrid(const TaskGrid& grid, const Work* const& work)
        : grid_(grid), outputs_(grid.tasks().size()), work_(work) {}

    void build() {
        for (const GridTask& task : grid_.tasks()) {
            Node& node =
                nodes_.emplace_back(graph_, [this, &task](const flow::continue_msg&) { work_->run(task, outputs_); });
            for (const std::int32_t column : grid_.inputs(task)) {
                flow::make_edge(nodes_[grid_.number(task.step - 1, column)], node);
            }
            if (task.inputs == 0) roots_.push_back(&node);
        }
    }
    void run() {
        for (Node* root : roots_) root->try_put(flow::continue_msg());
        graph_.wait_for_all();
    }
    const TaskGrid& grid() const { return grid_; }

  private:
    const TaskGrid& grid_;
    std::vector<TaskSlot> outputs_;
    const Work* const& work_;
    flow::graph graph_;
    std::deque<Node> nodes_;
    std::vector<Node*> roots_;
};

class OneTbbGrid final : public GridSystem {
  public:
    OneTbbGrid(int workers, FlowGraph graph)
        : limit_(oneapi::tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(workers)),
          arena_(workers),
          graph_(graph) {}

    double run(const Work& work) override {
        work_ = &work;
        return arena_.execute([&] { return graph_ == FlowGraph::built ? build_and_run() : run_again(); });
    }

  private:
    double build_and_run() {
        NodesOfGrid nodes(work_->grid(), work_);
        const Stopwatch watch;
        nodes.build();
        nodes.run();
        return watch.elapsed().wall;
    }
    double run_again() {
        if (!nodes_ || &nodes_->grid() != &work_->grid()) {
            nodes_ = std::make_unique<NodesOfGrid>(work_->grid(), work_);
            nodes_->build();
        }
        const Stopwatch watch;
        nodes_->run();
        return watch.elapsed().wall;
    }

    oneapi::tbb::global_control limit_;
    oneapi::tbb::task_arena arena_;
    const FlowGraph graph_;
    const Work* work_ = nullptr;
    std::unique_ptr<NodesOfGrid> nodes_;
};

}  // namespace

std::unique_ptr<GridSystem> make_onetbb_grid(int workers, FlowGraph graph) {
    return std::make_unique<OneTbbGrid>(workers, graph);
}

}  // namespace bench
