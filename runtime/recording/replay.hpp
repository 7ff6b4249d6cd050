#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/execution/completion.hpp"
#include "runtime/execution/kernel_runs.hpp"
#include "runtime/graph/recorded_frame.hpp"
#include "runtime/recording/moved_arguments.hpp"
#include "runtime/recording/recorded_graph.hpp"
#include "runtime/recording/replay_queue.hpp"

namespace basalt::detail {

/// The data of one run: for each datum of the recording the version, and its address.
struct BoundData {
    std::vector<Version*> versions;
    std::vector<std::byte*> bases;
};

class Replay;

/// Brings workers to a replay.
class ReplayHelpers {
  public:
    /// Has some worker that is free call replay.work(). Whether that will happen.
    virtual bool call(Replay& replay) noexcept = 0;

  protected:
    ~ReplayHelpers() = default;
};

/// Runs a recorded graph on the cores, one run at a time.
///
/// To the runtime, a run is one task (see RecordedRuns) with the accesses of all recorded tasks. Its kernel
/// calls run(). The workers that take part each keep a queue of ready tasks. A worker that completes a task runs the
/// best of the successors that became ready and queues the others; one that has none steals. Where tasks wait and not
/// all workers are there, a helper is called: a task of the runtime's own, which any worker without work finds. A
/// worker stays for a millisecond at most before it looks after other things, so that a long run keeps no thread from
/// them.
///
/// Who owns what. The thread that begins a run writes the members `of the run` before it queues the first
/// task; others read them, and count down `pending_`, when they have taken a task from a queue, whose lock orders the
/// two. A task's closure and its moved arguments are touched by the thread that runs it alone: the task's entry of
/// `pending_` says when, and its last decrement is acquired by the thread that finds it. The next run begins when this
/// one's task has completed, and that when the last recorded task has.
class Replay final : private RecordedRun {
  public:
    struct Parts {
        TaskGraph& graph;
        KernelRuns& kernels;
        Completion& completion;
        int workers;
    };
    Replay(const Parts& parts, const RecordedGraph& recorded, ReplayHelpers& helpers);

    /// The kernel of the run's task: begins the run and takes part in it. The calling thread runs that task. `data` is
    /// there until it completes.
    void run(const BoundData& data);
    /// A helper takes part, if there is still something to do.
    void work();

  private:
    using Node = std::uint32_t;
    /// What a worker has while it takes part. Spare threads share a place, and so a queue.
    struct Hand {
        ReplayQueue& queue;
        std::unique_ptr<RecordedFrame> frame = std::make_unique<RecordedFrame>();
        std::vector<Node> ready = {};  ///< scratch
        std::size_t next_victim = 0;
    };
    class Stay;

    Scope* task_done(RecordedFrame& frame, Worker& worker, const std::shared_ptr<const std::string>& failure) override;
    void bind_accesses(Node number, std::vector<BoundAccess>& accesses) const override;

    void bind(const BoundData& data);
    void work(Worker& worker);
    bool predecessor_done(Node number);
    bool find(Hand& hand, Node& found);
    bool steal(Hand& hand);
    bool run_node(const RecordedNode& node, Node number, Hand& hand, Worker& worker);
    bool run_task(const RecordedNode& node, Node number, Hand& hand, Worker& worker);
    void run_kernel(const RecordedNode& node, RecordedFrame& frame, Worker& worker);
    void prepare(RecordedFrame& frame, const RecordedNode& node, Node number);
    void identify(RecordedFrame& frame);
    void find_predecessors();
    bool may_run(RecordedFrame& frame);
    void doom_if_followed_failed(RecordedFrame& frame);
    void note_failure(const RecordedFrame& frame, const std::shared_ptr<const std::string>& reason);
    bool release_successors(const RecordedNode& node, Hand& hand, Node& next);
    void push(ReplayQueue& queue, const Node* nodes, std::size_t count);
    ReplayQueue& queue_of(const Worker& worker);
    void prefetch(Node number) const;
    void call_helper();
    bool any_queued() const;
    /// Counts completed tasks. Whether those were the last ones.
    bool count_done(std::uint32_t tasks);

    const Parts p_;
    const RecordedGraph& recorded_;
    const RecordedNode* const nodes_;
    ReplayHelpers& helpers_;
    std::vector<std::unique_ptr<ReplayQueue>> queues_;  ///< by place

    // of the run
    /// Predecessors of each task that have not completed. They are not in the nodes: a core writes those of 16 tasks in
    /// one line, and all cores keep the nodes.
    std::vector<std::atomic<std::uint32_t>> pending_;
    Scope* scope_ = nullptr;   ///< of the run's task
    Scope* inside_ = nullptr;  ///< that of the task's children, which counts the run as one of them
    const BoundData* data_ = nullptr;
    bool moves_ = false;  ///< the run's data are not where they were when recorded
    bool observed_ = false;
    std::uint64_t successors_word_ = 0;            ///< of frames: a generation that no task has, for those who observe
    std::vector<std::ptrdiff_t> shifts_;           ///< of the data, in bytes; the last one is 0
    std::optional<MovedArguments> moved_;          ///< since a run's data moved for the first time
    std::vector<std::vector<Node>> predecessors_;  ///< for traces
    /// Where some tasks follow others by after(): why each task did not succeed, by its number. Written before the
    /// task's successors are released.
    std::vector<std::shared_ptr<const std::string>> failures_;
    std::atomic<bool> any_failure_{false};

    /// Tasks of the run that have not completed. Places subtract what they ran when they run out of tasks.
    alignas(64) std::atomic<std::uint32_t> left_{0};
    /// Workers that take part, or are called to.
    alignas(64) std::atomic<int> present_{0};
};

}  // namespace basalt::detail
