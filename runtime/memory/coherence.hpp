#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/spin_lock.hpp"
#include "runtime/memory/device_memory.hpp"
#include "runtime/memory/transfer_failures.hpp"
#include "runtime/memory/transfers.hpp"

namespace basalt::detail {

/// Keeps track, in program order, of where data are valid, and has the transfers that tasks need submitted in front of
/// them (docs/decisions/0007-devices-and-memory.md).
///
/// Thread-safety: all members are called under the root scope's lock, except forget(). A residency of the user's own
/// array is forgotten by the thread that gives the array up, which no other thread may use at that time.
class Coherence final : public ResidencyOwner {
  public:
    /// `limit`: bytes of each device that data may take up; 0: as much as it has.
    Coherence(TaskGraph& graph, const std::vector<std::unique_ptr<Device>>& devices, std::size_t limit)
        : unwritten_(graph.unwritten()),
          devices_(devices),
          transfers_(graph, devices, failures_),
          memory_(graph, devices, limit, transfers_),
          given_(devices.size()) {}

    /// Makes the task's data valid on `node`: has transfers submitted, finds memory, and fills in the addresses.
    /// `bases` hold the addresses of the task's accesses on the host, and nullptr for each empty one. Throws
    /// DeviceError (out of memory) where the data can never fit.
    void prepare(TaskBuilder& task, Node node, void** bases);
    /// The contents of the task's data, all of which it accesses on the host, come to the host's memory, and nothing
    /// else of them will count. What only a lost device has is noted as unwritten.
    void gather(TaskBuilder& task, Purpose purpose);
    /// The task is in the graph: what it writes is valid on its node alone from now on.
    void commit(const TaskBuilder& task, Node node);
    /// The GPU that holds most bytes of the data; if none holds any, the one to which least was given. Empty where all
    /// are lost.
    std::optional<int> choose_device(const BoundAccess* accesses, std::size_t count) const;

    /// Whether nothing of the datum's old contents matters after the task, whose access this is.
    static bool overwritten(const TaskBuilder& task, const BoundAccess& access);

    /// Whether the task's data are not larger than the memory of that device.
    bool may_fit(const TaskBuilder& task, Node node) const;

    /// Makes the contents valid on `node` as well, ahead of the tasks that need them there.
    void prefetch(Version& version, Node node, Purpose purpose);
    /// The same for all devices at once.
    void broadcast(Version& version, Purpose purpose, BroadcastRoute route);
    /// Where the version's contents are; from now on it has a residency.
    Residency& residency(Version& version);
    void forget(Residency& residency) override;
    /// Brings the contents of the user's own arrays home, and gives up those on GPUs: once everything submitted so far
    /// has run, the user may read and write the arrays. What a lost GPU held stays lost, which losses() counts.
    void bring_borrowed_home();
    /// Everything submitted so far has run: counts what did not come home as lost, too.
    void note_failed_homecomings();
    std::size_t losses() const;
    /// The text of loss number `seen`, which becomes one more; empty if there is none.
    std::optional<std::string> next_loss(std::size_t& seen) const;
    DeviceMemory& memory() { return memory_; }

    /// Throws DeviceError where the last transfer to the host's memory is known to have failed.
    void check_home(const Residency& residency) const { failures_.check_home(residency, devices_); }
    /// Whether recover() has something to do.
    bool damaged() const { return failures_.any() || any_lost(); }
    /// Nothing is in flight: replicas that failed transfers were to fill, those filled from them, and those on lost
    /// devices are no longer taken for valid. What is nowhere valid is noted as unwritten.
    void recover();

  private:
    void reserve(TaskBuilder& task, Node node);
    bool reserve_for(Residency& residency, Node node, Purpose purpose);
    bool any_lost() const;
    bool lost(Node node) const { return devices_[static_cast<std::size_t>(device_of_node(node))]->lost(); }

    Unwritten& unwritten_;
    const std::vector<std::unique_ptr<Device>>& devices_;
    TransferFailures failures_;
    Transfers transfers_;
    DeviceMemory memory_;
    void note_loss(const Residency& r, const char* why);

    mutable SpinLock borrowed_lock_;      // guards what follows, since forget() comes without the root scope's lock
    std::vector<Residency*> borrowed_;    ///< of the user's own arrays
    std::vector<const Residency*> lost_;  ///< of them, those whose loss is noted
    std::vector<std::string> losses_;     ///< for wait() to throw
    std::vector<std::uint64_t> given_;    ///< tasks placed on each device, for choose_device()
};

}  // namespace basalt::detail
