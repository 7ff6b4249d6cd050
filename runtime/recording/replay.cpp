#include "runtime/recording/replay.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/prefetch.hpp"
#include "base/spin_lock.hpp"
#include "runtime/execution/task_errors.hpp"
#include "runtime/graph/task_builder.hpp"

namespace basalt::detail {

namespace {

// A worker that finds no task looks again for some 20 us before it leaves: calling it back takes a microsecond or two.
constexpr int most_polls = 40;
constexpr int pauses_between_polls = 16;

constexpr auto longest_stay = std::chrono::milliseconds(1);
constexpr auto long_between_clock_looks = std::chrono::microseconds(100);
constexpr int most_tasks_between_clock_looks = 64;
constexpr std::size_t most_nodes_stolen = 256;
constexpr std::uint32_t counters_ahead = 8;
constexpr std::uint32_t nodes_ahead = 4;

constexpr std::uint64_t generations_of_runs = std::uint64_t{1} << 30;  // behind the first one: 31 bits in all

}  // namespace

/// When a worker has taken part for long enough. It looks at the clock after every long task, but only after one in
/// many short ones.
class Replay::Stay {
  public:
    bool over() {
        if (--left_ > 0) return false;
        const auto now = std::chrono::steady_clock::now();
        tasks_ = now - last_ < long_between_clock_looks ? std::min(2 * tasks_, most_tasks_between_clock_looks) : 1;
        last_ = now;
        left_ = tasks_;
        return now >= end_;
    }

  private:
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
    const std::chrono::steady_clock::time_point end_ = last_ + longest_stay;
    int tasks_ = 1;
    int left_ = 1;
};

Replay::Replay(const Parts& parts, const RecordedGraph& recorded, ReplayHelpers& helpers)
    : p_(parts), recorded_(recorded), nodes_(recorded.nodes), helpers_(helpers), pending_(recorded.node_count) {
    // the last place is the one that spare threads share
    for (int place = 0; place <= parts.workers; ++place) {
        queues_.push_back(std::make_unique<ReplayQueue>(recorded.ranks));
    }
    shifts_.resize(recorded.data.size() + 1);  // accesses without elements do not move
    if (!recorded.followed.empty()) failures_.resize(recorded.tasks.size());
}

void Replay::run(const BoundData& data) {
    static std::atomic<std::uint64_t> runs{0};
    const ThreadContext& context = *ThreadContext::of(p_.graph);
    bind(data);  // first: it may throw
    scope_ = context.task()->scope;
    inside_ = &p_.graph.current_scope();
    // relaxed: this thread completes the task's kernel later
    inside_->outstanding.fetch_add(1, std::memory_order_relaxed);
    const std::uint64_t run = runs.fetch_add(1, std::memory_order_relaxed);
    successors_word_ = (first_generation_of_frames + run % generations_of_runs) << 32 | Task::no_edge;
    // relaxed: see "Who owns what"
    for (Node i = 0; i < recorded_.node_count; ++i)
        pending_[i].store(recorded_.predecessor_counts[i], std::memory_order_relaxed);
    // release: see count_done()
    left_.store(recorded_.node_count, std::memory_order_release);
    present_.fetch_add(1, std::memory_order_relaxed);
    push(queue_of(*context.worker()), recorded_.roots.data(), recorded_.roots.size());
    work(*context.worker());
}

void Replay::bind(const BoundData& data) {
    data_ = &data;
    moves_ = false;
    for (std::size_t i = 0; i < data.bases.size(); ++i) {
        shifts_[i] = shift_of(recorded_.bases[i], data.bases[i]);
        moves_ = moves_ || shifts_[i] != 0;
    }
    if (moves_ && !moved_) moved_.emplace(recorded_);
    if (any_failure_.load(std::memory_order_relaxed)) {  // of the last run, which is over
        std::fill(failures_.begin(), failures_.end(), nullptr);
        any_failure_.store(false, std::memory_order_relaxed);
    }
    observed_ = p_.kernels.observed();
    if (observed_ && predecessors_.empty()) find_predecessors();
}

void Replay::find_predecessors() {
    predecessors_.resize(recorded_.node_count);
    for (Node i = 0; i < recorded_.node_count; ++i) {
        const std::uint32_t first = nodes_[i].first_successor;
        for (std::uint32_t k = 0; k < nodes_[i].successors; ++k) {
            predecessors_[recorded_.successors[first + k]].push_back(i);
        }
    }
}

/// A driver's thread has none of its own.
ReplayQueue& Replay::queue_of(const Worker& worker) {
    return *queues_[worker.post == Worker::Post::driver ? 0 : static_cast<std::size_t>(worker.place)];
}

void Replay::work() { work(*ThreadContext::worker_of(p_.graph)); }

/// The caller is counted in present_.
void Replay::work(Worker& worker) {
    Hand hand{queue_of(worker)};
    Stay stay;
    std::uint32_t done = 0;
    int polls = 0;
    Node next = 0;
    while (true) {
        while (find(hand, next)) {
            polls = 0;
            for (bool more = true; more;) {
                const RecordedNode& node = nodes_[next];
                if (!run_node(node, next, hand, worker)) break;  // its children go on
                ++done;
                more = release_successors(node, hand, next);
                if (!stay.over()) continue;
                if (more) push(hand.queue, &next, 1);
                if (hand.queue.empty() || !helpers_.call(*this)) break;
                // the helper that was called counts in place of this thread
                if (count_done(done)) p_.completion.leave(*inside_, worker);
                return;
            }
        }
        // inside_ is that of the run whose tasks this thread ran: while they are not counted, there is no other one
        if (count_done(std::exchange(done, 0))) p_.completion.leave(*inside_, worker);
        // acquire: nothing is left only after all was counted
        if (left_.load(std::memory_order_acquire) > 0 && ++polls < most_polls) {
            for (int i = 0; i < pauses_between_polls; ++i) cpu_relax();
            continue;
        }
        present_.fetch_sub(1, std::memory_order_seq_cst);
        // a thread that queued tasks and did not call a helper, because it saw this one, is seen here
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (!any_queued()) return;
        present_.fetch_add(1, std::memory_order_relaxed);
        polls = 0;
    }
}

bool Replay::count_done(std::uint32_t tasks) {
    // acq_rel: who completes the run has seen what all its tasks wrote
    return tasks > 0 && left_.fetch_sub(tasks, std::memory_order_acq_rel) == tasks;
}

bool Replay::find(Hand& hand, Node& found) {
    do {
        if (const auto own = hand.queue.pop([this](Node soon) { prefetch(soon); })) {
            found = *own;
            return true;
        }
    } while (steal(hand));
    return false;
}

bool Replay::steal(Hand& hand) {
    for (std::size_t i = 0; i < queues_.size(); ++i) {
        const std::size_t victim = (hand.next_victim + i) % queues_.size();
        if (queues_[victim].get() == &hand.queue || queues_[victim]->empty()) continue;
        hand.ready.clear();
        queues_[victim]->steal(hand.ready, most_nodes_stolen);
        if (hand.ready.empty()) continue;
        hand.next_victim = victim;
        push(hand.queue, hand.ready.data(), hand.ready.size());
        return true;
    }
    return false;
}

inline void Replay::prefetch(Node number) const {
    __builtin_prefetch(&nodes_[number]);
    const std::byte* const kernel = recorded_.kernels[number];
    __builtin_prefetch(kernel);
    __builtin_prefetch(kernel + 64);
    if (moves_) moved_->prefetch(number);
}

bool Replay::any_queued() const {
    return std::any_of(queues_.begin(), queues_.end(), [](const auto& queue) { return !queue->empty(); });
}

void Replay::push(ReplayQueue& queue, const Node* nodes, std::size_t count) {
    queue.push(nodes, count, [this](Node node) { return nodes_[node].rank; });
    call_helper();
}

/// If not all workers are there: each one that comes finds more than it takes, or not.
void Replay::call_helper() {
    int present = present_.load(std::memory_order_relaxed);
    while (present < p_.workers) {
        // relaxed: the queues' locks order what helpers find
        if (!present_.compare_exchange_weak(present, present + 1, std::memory_order_relaxed)) continue;
        if (!helpers_.call(*this)) present_.fetch_sub(1, std::memory_order_relaxed);
        return;
    }
}

/// False where the task completes later, with its children.
bool Replay::run_node(const RecordedNode& node, Node number, Hand& hand, Worker& worker) {
    const std::uint32_t* successor = recorded_.successors.data() + node.first_successor;
    for (std::uint32_t i = 0; i < std::min(node.successors, counters_ahead); ++i) {
        prefetch_to_write(&pending_[successor[i]]);
    }
    // probably runs that many tasks later: see RecordedGraph
    if (number + nodes_ahead < recorded_.node_count) prefetch(number + nodes_ahead);
    return node.ops == nullptr || run_task(node, number, hand, worker);
}

bool Replay::run_task(const RecordedNode& node, Node number, Hand& hand, Worker& worker) {
    RecordedFrame& frame = *hand.frame;
    prepare(frame, node, number);
    if (may_run(frame)) run_kernel(node, frame, worker);
    // relaxed: members of this task's thread alone set it
    if (frame.children.load(std::memory_order_relaxed) != nullptr) {
        Task& with_children = *std::exchange(hand.frame, std::make_unique<RecordedFrame>()).release();
        p_.completion.kernel_done(with_children, worker);
        return false;
    }
    if (!p_.graph.unwritten().any()) return true;
    frame.bind_accesses();
    const Unwritten::Ending ending = p_.graph.unwritten().settle(frame);
    if (ending.refusal) drop_task(p_.graph, frame, *ending.refusal);
    if (ending.failure) note_failure(frame, ending.failure);
    return true;
}

/// Tasks that follow this one by after() are not to run.
void Replay::note_failure(const RecordedFrame& frame, const std::shared_ptr<const std::string>& reason) {
    if (failures_.empty()) return;
    failures_[nodes_[frame.number].task] = reason;
    // relaxed: who follows the task acquires that it is done
    any_failure_.store(true, std::memory_order_relaxed);
}

void Replay::doom_if_followed_failed(RecordedFrame& frame) {
    const RecordedGraph::Submitted& task = recorded_.tasks[nodes_[frame.number].task];
    for (std::size_t i = 0; i < task.followed; ++i) {
        const auto& failure = failures_[recorded_.followed[task.first_followed + i]];
        if (failure) return p_.graph.unwritten().doom(frame, *failure);
    }
}

void Replay::run_kernel(const RecordedNode& node, RecordedFrame& frame, Worker& worker) {
    void* arguments = nullptr;
    try {
        if (moves_) arguments = moved_->make(frame.number, shifts_.data());
    } catch (...) {  // as if the kernel had thrown it
        return p_.kernels.fail(frame, worker);
    }
    p_.kernels.run_recorded(frame, worker, {*node.ops, node.kernel, arguments});
}

void Replay::prepare(RecordedFrame& frame, const RecordedNode& node, Node number) {
    frame.begin(number);
    frame.run = this;
    frame.scope = scope_;
    frame.name = node.name;
    frame.tile = node.tile;
    frame.step = node.step;
    if (observed_) identify(frame);
}

/// Gives the task a name of its own, and says what it waited for.
void Replay::identify(RecordedFrame& frame) {
    frame.slot = frame.number;
    frame.priority = sum_of_priorities(recorded_.tasks[nodes_[frame.number].task].options.priority, scope_->priority);
    frame.successors.store(successors_word_, std::memory_order_relaxed);
    const std::vector<Node>& before = predecessors_[frame.number];
    const std::size_t count = std::min<std::size_t>(before.size(), Task::recorded_predecessors);
    for (std::size_t i = 0; i < count; ++i) {
        frame.predecessors[i].store((successors_word_ >> 32) << 32 | before[i], std::memory_order_relaxed);
    }
    frame.recorded.store(static_cast<std::uint8_t>(count), std::memory_order_relaxed);
}

/// Whether it may run: its graph goes on, what it reads has contents, and what it follows by after() succeeded.
bool Replay::may_run(RecordedFrame& frame) {
    const bool any_failure = any_failure_.load(std::memory_order_relaxed);
    if (!frame.scope->drained() && !p_.graph.unwritten().any() && !any_failure) return true;
    frame.bind_accesses();
    if (any_failure) doom_if_followed_failed(frame);
    return p_.kernels.may_run(frame);
}

/// One of the task's predecessors has completed. Whether nothing holds the task back any more.
inline bool Replay::predecessor_done(Node number) {
    std::atomic<std::uint32_t>& pending = pending_[number];
    // acq_rel: the last predecessor passes on what all of them wrote. Where this is the only one left, no other thread
    // writes the number: looking is enough, and costs less.
    return pending.load(std::memory_order_acquire) == 1 || pending.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

/// Whether one became ready for this thread to run at once; the others are queued.
bool Replay::release_successors(const RecordedNode& node, Hand& hand, Node& next) {
    const std::uint32_t* successor = recorded_.successors.data() + node.first_successor;
    bool found = false;
    hand.ready.clear();
    for (std::uint32_t i = 0; i < node.successors; ++i) {
        if (i + counters_ahead < node.successors) prefetch_to_write(&pending_[successor[i + counters_ahead]]);
        if (!predecessor_done(successor[i])) continue;
        if (found) hand.ready.push_back(next);
        next = successor[i];
        found = true;
    }
    if (!hand.ready.empty()) {
        prefetch(hand.ready.back());
        push(hand.queue, hand.ready.data(), hand.ready.size());
    }
    return found;
}

Scope* Replay::task_done(RecordedFrame& frame, Worker& worker, const std::shared_ptr<const std::string>& failure) {
    const std::unique_ptr<RecordedFrame> owned(&frame);
    if (failure) note_failure(frame, failure);
    const RecordedNode& node = nodes_[frame.number];
    std::vector<Node> ready;
    const std::uint32_t* successor = recorded_.successors.data() + node.first_successor;
    for (std::uint32_t i = 0; i < node.successors; ++i) {
        if (predecessor_done(successor[i])) ready.push_back(successor[i]);
    }
    Scope* const inside = inside_;
    if (!ready.empty()) {
        push(queue_of(worker), ready.data(), ready.size());
        // This thread may not take part. A worker that leaves sees the tasks, or is seen to have left.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        call_helper();
    }
    return count_done(1) ? inside : nullptr;
}

void Replay::bind_accesses(Node number, std::vector<BoundAccess>& accesses) const {
    accesses.clear();
    const RecordedGraph::Submitted& submitted = recorded_.tasks[nodes_[number].task];
    for (std::uint32_t i = 0; i < submitted.accesses; ++i) {
        const RecordedAccess& a = recorded_.accesses[submitted.first_access + i];
        if (a.empty()) continue;
        accesses.emplace_back(data_->versions[a.datum],
                              AccessRecord{nullptr, a.row_begin, a.row_end, a.col_begin, a.col_end, 0, a.mode});
    }
}

}  // namespace basalt::detail
