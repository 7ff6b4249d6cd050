#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/device/stream_points.hpp"
#include "runtime/graph/task_group.hpp"

namespace basalt::detail {

struct Residency;
struct Version;

/// A memory: the host's (0) or that of a GPU (its number + 1).
using Node = int;
inline constexpr Node host_node = 0;
inline constexpr int max_nodes = max_devices + 1;
constexpr Node node_of_device(int device) { return device + 1; }
constexpr int device_of_node(Node node) { return node - 1; }
constexpr std::uint32_t bit_of_node(Node node) { return 1U << node; }

/// A datum's memory on one node.
struct Replica {
    void* memory = nullptr;     ///< nullptr: none there
    TaskRef arrival;            ///< the transfer that last brought the contents, which users wait for
    std::uint64_t arrived = 0;  ///< its number; transfers are numbered in program order
    Node source = host_node;    ///< where it came from
    TaskGroup former;           ///< users of the memory's former tenant, until somebody waited for them
    std::uint64_t last_use = 0;
    bool adopted = false;  ///< the user's memory: never evicted, never handed out
};

/// Hands out the memory of residencies, and takes it back.
class ResidencyOwner {
  public:
    /// No task uses the datum any more: its replicas are free. Any thread may call this.
    virtual void forget(Residency& residency) = 0;

  protected:
    ~ResidencyOwner() = default;
};

/// Where the contents of one version of a datum are, as program order has it: after all tasks submitted so far.
/// A version that no device has used has none, and its contents are in the host's memory.
struct Residency {
    explicit Residency(ResidencyOwner& owner) : owner(owner) {}
    ~Residency() { owner.forget(*this); }
    Residency(const Residency&) = delete;
    Residency& operator=(const Residency&) = delete;

    bool valid_on(Node node) const { return (valid & bit_of_node(node)) != 0; }
    Replica& replica_on(Node node) { return replicas[static_cast<std::size_t>(node)]; }
    const Replica& replica_on(Node node) const { return replicas[static_cast<std::size_t>(node)]; }

    /// The contents are not needed any more, so they are not worth a transfer.
    void abandon() { valid = bit_of_node(host_node); }

    ResidencyOwner& owner;
    Version* version = nullptr;
    std::uint32_t valid = 1;  ///< bits of nodes; never 0
    /// Rows that have contents; of a datum that is not scratch, all.
    Index row_begin = 0;
    Index row_end = 0;
    std::array<Replica, max_nodes> replicas;
};

}  // namespace basalt::detail
