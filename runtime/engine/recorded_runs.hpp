#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "basalt/recording.hpp"
#include "base/process.hpp"
#include "runtime/engine/array_blocks.hpp"
#include "runtime/engine/submission.hpp"
#include "runtime/engine/waiting.hpp"
#include "runtime/engine/window.hpp"
#include "runtime/recording/captured_run.hpp"
#include "runtime/recording/replay.hpp"

namespace basalt::detail {

/// What a Recording and its runs share.
struct RecordedState final : ReplayHelpers, std::enable_shared_from_this<RecordedState> {
    /// What a run uses in place of a datum of the recording.
    struct Binding {
        Datum* datum;
        std::uint32_t generation;
    };
    /// `parts`: nullptr where the cores cannot run it as a whole.
    RecordedState(RecordedRuns& runs, std::shared_ptr<const std::atomic<bool>> runtime_ended, const TaskGraph& runtime,
                  std::unique_ptr<RecordedGraph> recorded, const Replay::Parts& parts, RecordedOnGpu on_gpu);

    bool call(Replay& replay) noexcept override;

    const ProcessMark mark{};
    /// `ended`: the reference leads nowhere.
    RecordedRuns& runs;
    const std::shared_ptr<const std::atomic<bool>> runtime_ended;
    const TaskGraph* const runtime;
    const std::shared_ptr<const RecordedGraph> recorded;
    std::unique_ptr<Replay> replay;         ///< empty where its tasks are submitted one by one
    std::unique_ptr<CapturedRun> captured;  ///< empty unless runs may be one task on a GPU

    std::mutex lock;  // guards what follows; taken before the lock of a program order
    std::vector<Binding> bindings;
    std::unordered_map<const Datum*, std::uint32_t> numbers;  ///< of the data that were recorded
    bool checked = true;                                      ///< all bindings are different
    std::deque<TaskRef> in_flight;                            ///< runs, the oldest first; perhaps completed
};

/// Makes recordings and runs them. Thread-safe.
class RecordedRuns {
  public:
    struct Parts {
        TaskGraph& graph;
        Submission& submission;
        Placement& placement;
        ArrayBlocks& blocks;
        Window& window;
        Waiting& waiting;
        KernelRuns& kernels;
        Completion& completion;
        int workers;
        bool gpus;               ///< there are some
        std::size_t most_tasks;  ///< Config::window
    };
    explicit RecordedRuns(const Parts& parts) : p_(parts) {}

    TaskGraph& graph() { return p_.graph; }
    /// The scope that the calling thread's recording would run in. Throws UsageError where it may not record.
    Scope& check_may_record();
    Recorder recorder() const { return Recorder(p_.graph, {.workers = p_.workers, .has_gpus = p_.gpus}); }
    std::shared_ptr<RecordedState> keep(std::unique_ptr<RecordedGraph> recorded, RecordedOnGpu on_gpu);
    void run(RecordedState& state);
    /// Submits a task that takes part in the run.
    void submit_helper(RecordedState& state);
    /// The runtime ends: recordings run no more.
    void end() { ended_->store(true, std::memory_order_release); }

  private:
    void make_room(Scope& scope, RecordedState& state);
    void check_bindings(const Scope& scope, RecordedState& state) const;
    void submit_run(Scope& scope, RecordedState& state);
    Task* build(Scope& scope, RecordedState& state);
    std::vector<RecordedState::Binding> checked_bindings(const Scope& scope, RecordedState& state) const;
    bool may_capture(const Scope& scope, const RecordedState& state) const;
    void submit_captured(const Scope& scope, RecordedState& state);
    void resubmit(const Scope& scope, RecordedState& state);

    const Parts p_;
    const std::shared_ptr<std::atomic<bool>> ended_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace basalt::detail
