#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/spin_lock.hpp"
#include "runtime/graph/access_map.hpp"
#include "runtime/graph/task.hpp"

namespace basalt::detail {

struct SlotCache;

/// One stream of submissions: the program outside all tasks (level 0), or the children of one task.
///
/// `lock` guards what submitting changes: the data's access maps, the counters and, at level 0, the slot
/// cache of threads without a place. The atomics are shared with the workers that finish the tasks.
class Scope {
  public:
    Scope(Task* owner, Scope* parent, std::uint64_t id)
        : owner(owner), parent(parent), level(parent == nullptr ? 0 : parent->level + 1), id(id) {}

    // -- what every worker reads for each task, on a line that hardly ever changes
    Task* const owner;  ///< the task whose children these are; nullptr at level 0
    Scope* const parent;
    const int level;
    const std::uint64_t id;
    /// Some task around these runs as a gang: fellow members of the submitting thread may stand at a barrier
    /// until these are done, so a gang among them takes what threads it can get (see GangHall).
    bool inside_gang = false;
    std::atomic<bool> cancelled{false};

    // -- what submitting changes for each task
    alignas(64) mutable SpinLock lock;
    std::atomic<std::uint64_t> submitted{0};  ///< written under the lock; every node, internal ones too
    std::uint64_t next_stamp = 0;
    std::uint64_t user_tasks = 0;
    std::uint64_t edges = 0;
    std::uint64_t dropped = 0;
    std::uint64_t sync_nodes = 0;
    std::uint64_t renamed = 0;
    SlotCache* cache = nullptr;  ///< level 0 only

    // -- what finishing changes
    /// Level 1 and deeper: children in flight, and one more while the owner's own kernel runs. The
    /// thread that takes it to zero completes the owner. (Level 0 counts a worker at a time, see
    /// Progress::in_flight().)
    alignas(64) std::atomic<std::int64_t> outstanding{1};

    /// Cancels what has not started and keeps the first error.
    void fail(std::exception_ptr error) {
        const std::lock_guard guard(error_lock_);
        if (!error_) error_ = std::move(error);
        cancelled.store(true, std::memory_order_release);
    }

    /// The error, if any; the scope is as new afterwards.
    std::exception_ptr take_error() {
        const std::lock_guard guard(error_lock_);
        cancelled.store(false, std::memory_order_release);
        return std::exchange(error_, nullptr);
    }

    /// Whether this graph or one around it is being drained.
    bool drained() const {
        for (const Scope* scope = this; scope != nullptr; scope = scope->parent) {
            if (scope->cancelled.load(std::memory_order_acquire)) return true;
        }
        return false;
    }

    /// How this scope sees the users of a datum whose home is another scope. Under the lock.
    AccessMap& map_of(const Version* version) {
        for (auto& [known, map] : maps_) {
            if (known == version) return *map;
        }
        return *maps_.emplace_back(version, std::make_unique<AccessMap>()).second;
    }

  private:
    std::vector<std::pair<const Version*, std::unique_ptr<AccessMap>>> maps_;
    std::mutex error_lock_;
    std::exception_ptr error_;
};

}  // namespace basalt::detail
