#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/graph/task_builder.hpp"
#include "runtime/memory/transfer_failures.hpp"

namespace basalt::detail {

/// What a transfer is for: priority and step of the task that needs it, or of the request.
struct Purpose {
    int priority = 0;
    std::optional<int> step = std::nullopt;
    bool gathers = false;  ///< nothing but the target will hold the contents: if the transfer fails, they are lost
};

/// How a broadcast reaches its devices.
enum class BroadcastRoute : std::uint8_t {
    ring,         ///< from one device to the next
    from_source,  ///< the device that has the contents sends to each of the others
};

/// Submits the tasks that copy contents between nodes. All members are called under the root scope's lock; the
/// target's memory is there.
class Transfers {
  public:
    Transfers(TaskGraph& graph, const std::vector<std::unique_ptr<Device>>& devices, TransferFailures& failures)
        : graph_(graph), devices_(devices), failures_(failures) {}

    /// Brings the contents to the node. Throws DeviceError where a device that is lost had them.
    void fetch(Residency& residency, Node node, Purpose purpose);
    /// The same for several nodes, in ascending order, at once.
    void broadcast(Residency& residency, std::vector<Node> targets, Purpose purpose, BroadcastRoute route);

  private:
    Device& device_of(Node node) const { return *devices_[static_cast<std::size_t>(device_of_node(node))]; }
    bool reaches(Node from, Node to) const;
    Node source_for(const Residency& residency, Node node) const;
    TaskGroup hazards_of_copy(Residency& residency, Node node) const;
    void submit_copy(Residency& residency, Node from, Node to, Purpose purpose);
    void submit_broadcast(Residency& residency, Node from, const std::vector<Node>& targets, Purpose purpose,
                          BroadcastRoute route);
    DeviceWork& begin(TaskBuilder& task, Residency& residency, Node from, Node to, const char* name, Purpose purpose);
    void finish(TaskBuilder& task, Residency& residency, Node from, const std::vector<Node>& targets, Purpose purpose);

    TaskGraph& graph_;
    const std::vector<std::unique_ptr<Device>>& devices_;
    TransferFailures& failures_;
    std::uint64_t transfers_ = 0;
};

}  // namespace basalt::detail
