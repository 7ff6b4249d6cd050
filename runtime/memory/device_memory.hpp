#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/graph/datum.hpp"
#include "runtime/memory/arena.hpp"
#include "runtime/memory/scratch.hpp"
#include "runtime/memory/transfers.hpp"

namespace basalt::detail {

/// The memory of devices: which data have some, and which of them give it up when others need it, the one that was not
/// used for longest first (docs/decisions/0007-devices-and-memory.md).
///
/// Thread-safety: reserving, evicting and adopting happen under the root scope's lock. forget() and what asks for bytes
/// may be called by any thread.
class DeviceMemory {
  public:
    /// Up to `limit` bytes of each device; 0: as much as it has.
    DeviceMemory(TaskGraph& graph, const std::vector<std::unique_ptr<Device>>& devices, std::size_t limit,
                 Transfers& transfers);

    /// Memory on the node for all of these at once; `needed` is sorted. False where that is too much. Throws
    /// DeviceError where the device fails.
    bool reserve(const std::vector<Residency*>& needed, Node node, std::optional<int> step);
    /// Whether all of them have memory there. They count as used now.
    bool touch(const std::vector<Residency*>& needed, Node node);
    /// The datum gives up its memory on the node, if it has any that is not adopted; the only contents come home.
    void leave(Residency& residency, Node node, Purpose purpose);
    /// Memory of the user's becomes the datum's there for good: never evicted, never handed out.
    void adopt(Residency& residency, Node node, void* memory);
    /// Frees the replicas of a datum that no task uses any more.
    void forget(Residency& residency);
    /// The node's device is lost: contents there are not valid any more. `lost` is called with each residency whose
    /// contents are nowhere valid.
    void give_up_contents(Node node, const std::function<void(Residency&)>& lost);
    /// Room for `count` data of `bytes` each side by side.
    void prepare(Node node, std::size_t bytes, std::size_t count);

    /// Scratch memory for a task whose work is being enqueued on the stream (see Stream::scratch()): nullptr for 0
    /// bytes. Any thread may call it. Throws DeviceError where there is none.
    void* take_scratch(Node node, StreamRole stream, TaskRef task, std::size_t bytes);

    struct Bytes {
        std::size_t taken;        ///< from the device, whether data have them or not
        std::size_t in_use;       ///< by data and scratch memory at present
        std::size_t most_in_use;  ///< at once, in program order; adopted memory does not count
    };
    Bytes bytes(Node node) const;
    void forget_most_in_use();
    /// Bytes that a task's data may take up on the node. Under the root scope's lock.
    std::size_t capacity(Node node) const { return arena(node).capacity(); }
    /// What to say of data that do not fit.
    std::string too_large(const std::vector<Residency*>& needed, Node node) const;

  private:
    Device& device_of(Node node) const { return *devices_[static_cast<std::size_t>(device_of_node(node))]; }
    Arena& arena(Node node) const { return *arenas_[static_cast<std::size_t>(device_of_node(node))]; }
    std::vector<Residency*>& residents(Node node) { return residents_[static_cast<std::size_t>(device_of_node(node))]; }

    bool give_back_scratch(Node node) { return scratch_[static_cast<std::size_t>(device_of_node(node))].give_back(); }
    bool place_all(const std::vector<Residency*>& needed, Node node, std::optional<int> step);
    bool place(Residency& residency, Node node);
    bool evict_one(Node node, const std::vector<Residency*>& kept, std::optional<int> step);
    void evict(Residency& victim, Node node, Purpose purpose);

    TaskGraph& graph_;
    const std::vector<std::unique_ptr<Device>>& devices_;
    Transfers& transfers_;
    std::uint64_t clock_ = 0;

    mutable std::mutex lock_;  // guards what follows: data are forgotten by any thread
    std::vector<std::unique_ptr<Arena>> arenas_;
    std::vector<Scratch> scratch_;                    ///< of each device
    std::vector<std::vector<Residency*>> residents_;  ///< data with memory on each device
};

}  // namespace basalt::detail
