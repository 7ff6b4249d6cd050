#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/graph/partitions.hpp"
#include "runtime/graph/residency.hpp"
#include "runtime/graph/task.hpp"

namespace basalt::detail {

/// Which parts of which data have no valid contents, and why: the task that should have written them failed or was
/// cancelled, or a GPU was lost that held the only copy. A task that reads such a part does not run, and what it should
/// have written has no contents either, whatever graph it belongs to. A task that overwrites a part makes it valid.
///
/// Devices run ahead of their drivers: what a task did there may become known after what a later one did. So such tasks
/// carry their number in program order, and each only heeds and clears what an earlier one left. Nor does a task heed
/// what an earlier one left where one between them is about to overwrite it.
///
/// Thread-safe. As long as everything is valid the runtime pays for all this with one load a task, and with a lock a
/// task that overwrites data on a device. any() is relaxed, because a thread that depends on a task that changed the
/// state has synchronised with its completion.
class Unwritten {
  public:
    /// Rows and columns of one version's datum; of a block's, as those of its array.
    using Part = ArrayPart;

    bool any() const { return entries_.load(std::memory_order_relaxed) != 0; }

    /// The task, which runs or was to run, does not write what it should. Of several reasons the first one stays.
    void fail(const Task& task, const std::string& reason);
    /// Why a task does not run, or counts as one that did not.
    struct Refusal {
        enum class Cause : std::uint8_t {
            data,         ///< what it reads has no contents
            predecessor,  ///< a task that it follows failed
        };
        Cause cause;
        std::string why;
    };
    /// The task has not completed, and a task that it follows has failed for that reason: it must not run. Another
    /// predecessor may still use what it writes, so nothing is noted of that until its turn has come.
    void doom(const Task& task, const std::string& reason);
    /// A task of the user's is about to run. Why it must not; it is noted as failed then. Otherwise empty, and what it
    /// overwrites counts as valid from now on.
    std::optional<Refusal> begin(const Task& task);
    /// Called before begin() and before settle(): meanwhile the task is on its device.
    void overwriting(const Task& task);
    void overwritten(const Task& task);
    /// How a task of the user's ended.
    struct Ending {
        std::shared_ptr<const std::string> failure;  ///< nullptr: it succeeded
        std::optional<Refusal> refusal;              ///< it turns out now that it should not have run
    };
    /// The task completes, before anybody learns of it.
    Ending settle(const Task& task);
    /// The reason of a task that has failed and not completed; nullptr otherwise.
    std::shared_ptr<const std::string> failure_of(const Task& task) const;
    /// The task has seen the error of its children and takes over what it may write.
    void take_over(const Task& task);

    /// The contents of the version's datum are lost; on `node` alone if that is given.
    void lose(const Version& version, const std::string& reason, std::optional<Node> node = std::nullopt);
    /// The region's contents are lost.
    void lose(const BoundAccess& region, const std::string& reason);
    /// Whether a part of the region has no contents on the host.
    bool lacks(const BoundAccess& region) const;
    /// Which part of the version's datum has no contents and why; empty if all of it has.
    std::optional<std::string> missing(const Version& version) const;
    /// The program has written all of it.
    void restore(const Version& version);
    /// The version, which is no block's, is about to end.
    void forget(const Version& version) {
        if (any()) restore(version);
    }
    /// What was lost on single nodes is known in other ways from now on.
    void forget_nodes();

  private:
    using Reason = std::shared_ptr<const std::string>;
    struct Entry {
        std::uint64_t order;  ///< of the task that should have written it
        Part part;
        std::optional<Node> node;  ///< empty: wherever it is read
        Reason reason;
    };
    struct Missing {
        const Datum* datum;
        Entry entry;
    };

    std::optional<Refusal> refuse_doomed(const Task& task);
    void add(const Version& version, const Entry& entry);
    template <class Concerned>
    void clear(const Version& version, const Part& part, const Concerned& concerned);
    void add_writes(const Task& task, const Reason& reason);
    bool is_overwritten(const Entry& entry, const BoundAccess& access, const Task& reader) const;
    void clear_nodes(const Version& version, const Task& task);
    /// Which of a task's accesses leave nothing unwritten behind.
    enum class Cleared : std::uint8_t { overwritten, all_written };
    void clear_writes(const Task& task, Cleared which);
    std::optional<Missing> missing_for(const Task& task) const;
    static std::string describe(const Missing& missing);
    void count();

    std::atomic<std::size_t> entries_{0};                           ///< of all; written under the lock
    mutable std::mutex lock_;                                       // guards what follows
    std::unordered_map<const Version*, std::vector<Entry>> parts_;  ///< a block's are those of its array
    std::unordered_map<const Task*, Reason> failed_;                ///< and have not completed
    std::unordered_map<const Task*, Reason> doomed_;                ///< and have not begun; on a device they may have
    std::vector<const Task*> overwriting_;                          ///< on devices
};

}  // namespace basalt::detail
