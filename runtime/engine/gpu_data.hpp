#pragma once

#include "runtime/device/gpus.hpp"
#include "runtime/engine/array_blocks.hpp"
#include "runtime/graph/task_graph.hpp"
#include "runtime/memory/coherence.hpp"

namespace basalt::detail {

/// Where data are, and moving them ahead of the tasks that need them. All of it is as program order has it: once
/// everything submitted so far has run. Thread-safe.
class GpuData {
  public:
    /// `coherence`: nullptr where there are no GPUs.
    GpuData(TaskGraph& graph, const Gpus& gpus, ArrayBlocks& blocks, Coherence* coherence)
        : graph_(graph), gpus_(gpus), blocks_(blocks), coherence_(coherence) {}

    /// GPUs to which an algorithm may deal its work by number: all, or none where one is lost, and inside a task, whose
    /// children run on cores.
    int gpus_to_deal_to() const;

    /// Runtime::prefetch() and broadcast().
    void prefetch(const AccessRecord& record, Place place, Purpose purpose);
    void broadcast(const AccessRecord& record, Purpose purpose, BroadcastRoute route = BroadcastRoute::ring);
    /// Runtime::evict().
    void evict(const AccessRecord& record, Place gpu);
    /// The datum gives up its memory on the GPU, which holds for whatever is submitted from now on. Its contents come
    /// home first where they are nowhere else.
    void leave(const Datum& datum, int device, Purpose purpose);
    /// The datum's contents are not needed any more, so they are not worth a transfer.
    void abandon(const Datum& datum);
    /// Memory of the user's on a GPU becomes the datum's there for good. Its contents are not those of the datum until
    /// a task has written all of it. The datum has no memory on the GPU yet. Throws UsageError inside a task.
    void adopt(const Datum& datum, int device, void* memory);

    /// Whether the host's memory holds the contents.
    bool at_home(const Datum& datum);
    /// Whether the GPU's memory holds the contents.
    bool valid_on(const Datum& datum, int device);
    /// Whether the datum has memory on that GPU.
    bool has_memory_on(const Datum& datum, int device);

  private:
    bool inside_task() const { return ThreadContext::task_of(graph_) != nullptr; }
    Version& root_version(const AccessRecord& record, Purpose purpose);

    TaskGraph& graph_;
    const Gpus& gpus_;
    ArrayBlocks& blocks_;
    Coherence* const coherence_;
};

}  // namespace basalt::detail
