#pragma once

#include <memory>
#include <vector>

#include "basalt/run_models.hpp"
#include "basalt/runtime.hpp"
#include "basalt/tuning.hpp"
#include "base/blas_buffers.hpp"
#include "base/core_claims.hpp"
#include "runtime/drivers/driver.hpp"
#include "runtime/engine/before_wait.hpp"
#include "runtime/engine/data_registry.hpp"
#include "runtime/engine/gpu_data.hpp"
#include "runtime/engine/gpu_memory.hpp"
#include "runtime/engine/host_copies.hpp"
#include "runtime/engine/recorded_runs.hpp"
#include "runtime/engine/submission.hpp"
#include "runtime/engine/user_graphs.hpp"
#include "runtime/engine/waiting.hpp"
#include "runtime/engine/window.hpp"
#include "runtime/memory/host_pool.hpp"
#include "runtime/memory/program_pins.hpp"
#include "runtime/observe/submission_log.hpp"
#include "runtime/observe/waiters.hpp"
#include "runtime/placement/place_chooser.hpp"
#include "runtime/process/living_runtime.hpp"
#include "runtime/watchdog/watchdog.hpp"
#include "runtime/workers/spare_threads.hpp"
#include "runtime/workers/worker_threads.hpp"

namespace basalt::detail {

/// The inside of a Runtime: its parts, made and connected. What each of them does is said in its own header.
///
/// Threads. `workers` places run tasks. Place 0 belongs to an outside thread that waits or helps, and to a stand-in
/// thread when none does but tasks are there; the other places have a thread each, and so has each GPU. At most one
/// thread works a place at a time, so a place's slot cache, counter and trace row need no lock. One more place is that
/// of the spare threads, which stand in for tasks that wait with a limit.
class Engine {
  public:
    explicit Engine(const Config& config);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// Throws UsageError where the runtime was left behind, see ProcessMark.
    void require_current() const { life_.mark().require_current("the Runtime"); }
    bool is_current() const { return life_.mark().is_current(); }

    const Config& config() const { return config_; }
    const Tuning& tuning() const { return tuning_; }
    /// nullptr where Config names no file.
    const RunModels* models() const { return models_.get(); }
    /// As run models call it.
    RunMachine run_machine() const;
    Statistics statistics();
    std::vector<DeviceInfo> device_infos() const;

    const Gpus& gpus() const { return gpus_; }
    Submission& submission() { return submission_; }
    const TaskGraph& graph() const { return graph_; }
    Waiting& waiting() { return waiting_; }
    const TaskWaits& task_waits() const { return task_waits_; }
    UserGraphs& user_graphs() { return user_graphs_; }
    RecordedRuns& recorded_runs() { return recorded_runs_; }
    BeforeWait& before_wait() { return before_wait_; }
    BeforeWait& before_end() { return before_end_; }
    DataRegistry& data() { return data_; }
    GpuData& gpu_data() { return gpu_data_; }
    GpuMemory& gpu_memory() { return gpu_memory_; }
    HostCopies& host_copies() { return host_copies_; }
    TraceRecorder& trace() { return trace_; }
    const SubmissionLog& submission_log() const { return submission_log_; }
    void start_trace() { observers_.start_trace(); }
    /// Memory that GPUs copy to and from.
    HostPool& pinned() { return pinned_; }
    /// The program's own memory that it has pinned.
    const std::shared_ptr<ProgramPins>& program_pins() const { return program_pins_; }
    /// Memory that only cores compute with.
    HostPool& workspaces() { return workspaces_; }
    /// Whether the calling thread runs a task. Throws UsageError inside a device kernel.
    bool inside_task() { return graph_.current_scope().owner != nullptr; }

  private:
    std::vector<std::unique_ptr<Driver>> make_drivers();
    void start_threads();
    void stop_threads();
    PlacedTasks* placed() { return chooser_ != nullptr ? chooser_->placed() : nullptr; }
    void keep_task_times();
    void terminate_inside_task() const;

    const Gpus gpus_;  ///< first of all: how many workers there are depends on them
    const Config config_;
    const Tuning tuning_;
    const std::unique_ptr<const RunModels> models_;
    const std::unique_ptr<PlaceChooser> chooser_;  ///< nullptr where there are no GPUs, and for policy "gpu"
    const BlasBuffers blas_buffers_;
    const CoreClaims cores_;
    const std::vector<std::unique_ptr<Worker>> workers_;

    // tasks, from ready to completed
    alignas(64) ParkingLot parking_;
    ReadyTasks ready_;
    Dispatch dispatch_;
    alignas(64) TaskGraph graph_;
    TraceRecorder trace_;
    Observers observers_;
    SubmissionLog submission_log_;
    Waiters waiters_;
    KernelRuns kernels_;
    Completion completion_;

    // memory
    HostPool pinned_;
    const std::shared_ptr<ProgramPins> program_pins_ = std::make_shared<ProgramPins>(pinned_);
    HostPool workspaces_;
    const std::unique_ptr<Coherence> coherence_;  ///< nullptr where there are no GPUs

    // threads
    Gangs gangs_;
    alignas(64) OutsidePlace outside_;
    Progress progress_;
    WorkLoop loop_;
    const std::vector<std::unique_ptr<Driver>> drivers_;
    SpareThreads spares_;

    // what the program asks for
    BeforeWait before_wait_;
    BeforeWait before_end_;
    Waiting waiting_;
    TaskWaits task_waits_;
    UserGraphs user_graphs_;
    Window window_;
    Placement placement_;
    ArrayBlocks blocks_;
    AtOnce at_once_;
    Submission submission_;
    RecordedRuns recorded_runs_;
    DataRegistry data_;
    HostCopies host_copies_;
    GpuData gpu_data_;
    GpuMemory gpu_memory_;

    WorkerThreads threads_;               ///< they use the rest
    std::unique_ptr<Watchdog> watchdog_;  ///< nullptr where none is wanted
    LivingRuntime life_;                  ///< of the complete runtime
};

}  // namespace basalt::detail
