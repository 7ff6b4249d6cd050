// oneTBB as a user calls it, who finds the dependencies: independent tasks go to a task_group; a graph consists of
// continue_nodes with an edge from the last writer of each tile that a task accesses, and runs once. These edges
// suffice for a chain and for tile Cholesky, which overwrite no tile after another task has read it. Building the graph
// is timed, destroying it is not.
#include <deque>
#include <initializer_list>
#include <stdexcept>
#include <vector>

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include "bench/tasks/task_streams.hpp"

namespace bench {

namespace {

namespace flow = oneapi::tbb::flow;
using Node = flow::continue_node<flow::continue_msg>;

inline void use(const double* a, const double* b, double* c) { asm volatile("" : : "r"(a), "r"(b), "r"(c)); }

class Graph {
  public:
    explicit Graph(const Stream& stream) : data_(stream.data()), last_writer_(stream.data(), nullptr) {}

    void run(const Stream& stream) {
        insert(stream, *this);
        for (Node* root : roots_) root->try_put(flow::continue_msg());
        graph_.wait_for_all();
    }

    void task() { throw std::logic_error("tasks without data need no graph"); }
    void update(std::size_t c) { add(nullptr, nullptr, c, {last_writer_[c]}); }
    void update(std::size_t a, std::size_t c) { add(&data_[a], nullptr, c, {last_writer_[a], last_writer_[c]}); }
    void update(std::size_t a, std::size_t b, std::size_t c) {
        add(&data_[a], &data_[b], c, {last_writer_[a], last_writer_[b], last_writer_[c]});
    }

  private:
    void add(const double* a, const double* b, std::size_t c, std::initializer_list<Node*> predecessors) {
        double* out = &data_[c];
        Node& node = nodes_.emplace_back(graph_, [a, b, out](const flow::continue_msg&) { use(a, b, out); });
        bool root = true;
        for (Node* predecessor : predecessors) {
            if (predecessor == nullptr) continue;
            flow::make_edge(*predecessor, node);
            root = false;
        }
        if (root) roots_.push_back(&node);
        last_writer_[c] = &node;
    }

    flow::graph graph_;
    std::vector<double> data_;
    std::vector<Node*> last_writer_;
    std::vector<Node*> roots_;
    std::deque<Node> nodes_;
};

/// Independent tasks.
struct Group {
    oneapi::tbb::task_group group;

    void task() {
        group.run([] { use(nullptr, nullptr, nullptr); });
    }
    template <class... Datum>
    void update(Datum...) {
        throw std::logic_error("tasks with data go through a graph");
    }
};

class OneTbbSystem final : public TaskSystem {
  public:
    explicit OneTbbSystem(int workers)
        : limit_(oneapi::tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(workers)),
          arena_(workers) {}

    Times run(const Stream& stream) override {
        return arena_.execute([&] { return stream.data() == 0 ? run_group(stream) : run_graph(stream); });
    }

  private:
    static Times run_group(const Stream& stream) {
        Group tasks;
        const Stopwatch watch;
        insert(stream, tasks);
        tasks.group.wait();
        return watch.elapsed();
    }
    static Times run_graph(const Stream& stream) {
        Graph graph(stream);
        const Stopwatch watch;
        graph.run(stream);
        return watch.elapsed();
    }

    oneapi::tbb::global_control limit_;
    oneapi::tbb::task_arena arena_;
};

}  // namespace

std::unique_ptr<TaskSystem> make_onetbb_system(int workers) { return std::make_unique<OneTbbSystem>(workers); }

}  // namespace bench
