#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/memory/arena.hpp"
#include "runtime/memory/residency.hpp"

namespace basalt::detail {

class Engine;
class TaskSubmission;
struct Datum;
struct Version;

/// Keeps track, in program order, of where data are valid; has the transfers that tasks need submitted in front of
/// them, and hands out device memory, evicting what was not used for longest
/// (docs/decisions/0007-devices-and-memory.md).
///
/// Thread-safety: all members are called under the root scope's lock, except forget() and copy_failed().
class Coherence {
  public:
    Coherence(Engine& engine, const std::vector<std::unique_ptr<Device>>& devices, std::size_t memory_limit);

    /// Makes the task's data valid on `node`: has transfers submitted, finds memory, and fills in the addresses.
    /// `bases` hold the addresses of the task's accesses on the host, and nullptr for each empty one. Throws
    /// DeviceError (out of memory) where the data can never fit.
    void prepare(TaskSubmission& task, Node node, void** bases);
    /// The task is in the graph: what it writes is valid on its node alone from now on.
    void commit(const TaskSubmission& task, Node node);

    /// What a transfer is for: the task that needs it, or whoever asked for it.
    struct Purpose {
        int priority = 0;
        int step = -1;
    };
    /// Makes the contents valid on `node` as well, now that nobody has asked for them yet.
    void prefetch(Version& version, Node node, Purpose purpose);
    /// The same for several nodes, in ascending order, at once: by a ring of devices that begins behind the one that
    /// has the contents. `by_source`: that one sends to each of them instead.
    void broadcast(Version& version, const std::vector<Node>& nodes, Purpose purpose, bool by_source);

    /// The version gives up its memory on the node, if it has any that is not adopted; the only contents come home.
    void leave(Version& version, Node node, Purpose purpose);

    /// The GPU that holds most bytes of the data; if none holds any, the one to which least was given.
    int choose_device(const BoundAccess* accesses, std::size_t count);
    /// Room for `count` data of `bytes` each side by side.
    void prepare_memory(Node node, std::size_t bytes, std::size_t count);
    /// Bytes that a task's data may take up on the node.
    std::size_t capacity(Node node) const { return arena(node).capacity(); }

    /// Bytes of the node that were taken from the device, whether data have them or not.
    std::size_t taken(Node node);
    /// Bytes that data have there at present.
    std::size_t in_use(Node node);
    /// The most bytes of the node's memory that data had at once, in program order; adopted memory does not count.
    std::size_t most_in_use(Node node);
    void forget_most_in_use();

    /// Memory of the user's becomes the datum's there for good. Its contents are not those of the datum until a task
    /// has written all of it. The datum has no memory on the node yet.
    void adopt(Version& version, Node node, void* memory);

    /// Nobody will ask for the contents any more: they are not worth a transfer.
    void abandon(Residency& residency) { residency.valid = bit_of_node(host_node); }
    /// Frees the replicas of a datum that no task uses any more.
    void forget(Residency& residency);
    /// Transfer number `number`, which device `device` was to make, did not bring the contents to `node`.
    void copy_failed(Residency& residency, Node node, std::uint64_t number, int device);
    /// Throws DeviceError where the last transfer to the host's memory is known to have failed.
    void check_home(const Residency& residency);
    /// Whether recover() has something to do.
    bool damaged();
    /// Nothing is in flight: replicas that failed transfers were to fill, those filled from them, and those on lost
    /// devices are no longer taken for valid.
    void recover();

    Residency& residency(Version& version);

  private:
    static Purpose purpose_of(const TaskSubmission& task);

    Device& device_of(Node node) const { return *devices_[static_cast<std::size_t>(device_of_node(node))]; }
    Arena& arena(Node node) const { return *arenas_[static_cast<std::size_t>(device_of_node(node))]; }

    void reserve(TaskSubmission& task, Node node);
    bool reserve_for(Residency& residency, Node node, Purpose purpose);
    bool place_all(const std::vector<Residency*>& needed, Node node, int step);
    bool place(Residency& residency, Node node);
    static std::size_t needed_bytes(const std::vector<Residency*>& needed, Node node);
    bool evict_one(Node node, const std::vector<Residency*>& kept, int step);
    void evict(Residency& victim, Node node, Purpose purpose);
    void fetch(Residency& residency, Node node, Purpose purpose);
    Node source_for(const Residency& residency, Node node) const;
    void submit_copy(Residency& residency, Node from, Node to, Purpose purpose);
    TaskGroup hazards_of_copy(Residency& residency, Node node);
    bool overwritten(const TaskSubmission& task, const BoundAccess& access) const;
    void note_arrival(Residency& residency, Node from, Node to, TaskRef transfer, std::uint64_t number);
    void distrust(Residency& residency, Node node, std::uint64_t number);
    bool any_lost() const;
    bool lost(Node node) const { return device_of(node).lost(); }
    [[noreturn]] void throw_too_large(const TaskSubmission& task, Node node,
                                      const std::vector<Residency*>& needed) const;

    Engine& engine_;
    const std::vector<std::unique_ptr<Device>>& devices_;
    std::vector<std::unique_ptr<Arena>> arenas_;
    std::vector<std::uint64_t> given_;  ///< tasks placed on each device, for choose_device()
    std::uint64_t clock_ = 0;
    std::uint64_t transfers_ = 0;

    std::mutex lock_;  // guards the arenas and what follows: data are forgotten by any thread
    std::vector<std::vector<Residency*>> residents_;  ///< data with memory on each node
    struct FailedCopy {
        Residency* residency;
        Node node;
        std::uint64_t number;
        int device;
    };
    std::vector<FailedCopy> failed_;
};

}  // namespace basalt::detail
