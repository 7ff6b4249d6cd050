#pragma once

#include <cstdint>
#include <vector>

#include "runtime/device/gpus.hpp"
#include "runtime/graph/task_builder.hpp"
#include "runtime/memory/coherence.hpp"
#include "runtime/placement/place_chooser.hpp"

namespace basalt::detail {

/// Decides where a task runs, and has its data moved there. Called under the scope's lock.
class Placement {
  public:
    /// `coherence`: nullptr where there are no GPUs. `chooser`: nullptr where the GPU that holds most of a task's data
    /// is chosen.
    Placement(const Gpus& gpus, Coherence* coherence, PlaceChooser* chooser)
        : gpus_(gpus), coherence_(coherence), chooser_(chooser) {}

    /// `bases` change to the addresses of the node where the task runs; those of empty accesses, which are left out of
    /// the task, are nullptr. Throws UsageError where options and kernels allow no node, DeviceError where only lost
    /// devices are left.
    void place(TaskBuilder& task, const Scope& scope, const TaskOptions& options, const KernelOps& ops, void** bases);
    /// Throws what place() throws for a task that may run nowhere, whatever its data and the state of the GPUs.
    void check(const Scope& scope, const TaskOptions& options, const KernelOps& ops) const;
    /// The same as place() for a task that runs on one stream of one device and nowhere else. The first `at_home`
    /// accesses are to the host's memory, which only copies can do. Throws DeviceError where the device is lost.
    DeviceWork& place_on_stream(TaskBuilder& task, int device, StreamRole role, void** bases, std::uint32_t at_home);
    /// The task, whose only access this is, finds the version's contents in the host's memory. May throw DeviceError.
    void bring_home(TaskBuilder& task, Version& version);
    /// See Coherence::gather().
    void gather(TaskBuilder& task, const Scope& scope, Purpose purpose) {
        if (coherence_ != nullptr && scope.owner == nullptr) coherence_->gather(task, purpose);
    }
    /// The task's hazards are recorded: from now on data are where it leaves them.
    void commit(const TaskBuilder& task, const Scope& scope, Node node) {
        // children work on what their parent has brought to the host; where data are is the program's own business
        if (coherence_ == nullptr || scope.owner != nullptr) return;
        coherence_->commit(task, node);
        if (chooser_ != nullptr) chooser_->commit(task);
    }

  private:
    Node choose_node(TaskBuilder& task, const Scope& scope, const TaskOptions& options, const KernelOps& ops);
    bool may_use_gpus(const TaskBuilder& task, const Scope& scope, const TaskOptions& options,
                      const KernelOps& ops) const;
    Node ask_policy(TaskBuilder& task, const TaskOptions& options, const KernelOps& ops, int gpus);
    Node check_gpu(const Scope& scope, const TaskOptions& options, const KernelOps& ops) const;

    const Gpus& gpus_;
    Coherence* const coherence_;
    PlaceChooser* const chooser_;
    std::vector<Node> nodes_;  ///< scratch of ask_policy()
};

}  // namespace basalt::detail
