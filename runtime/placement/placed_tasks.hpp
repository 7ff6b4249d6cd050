#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/graph/task_pool.hpp"
#include "runtime/placement/place_plan.hpp"
#include "runtime/placement/task_models.hpp"

namespace basalt::detail {

/// What the plan and the models have to be told about each task in flight that a policy observes.
///
/// A task's entry belongs to the same thread as the task: the submitting thread writes it before the task enters the
/// graph, then the thread that runs the task, and the one that completes it, use it. What publishes the task publishes
/// its entry. Tasks that are not observed are told by the generation.
class PlacedTasks {
  public:
    explicit PlacedTasks(PlacePlan& plan);

    /// The task has been added to the plan. Under the root scope's lock.
    void add(const Task& task, Node node, PlacePlan::Time share, LearntTimes& times);

    /// Whether ran() is wanted.
    bool observes(const Task& task) const { return entry_of(task) != nullptr; }
    /// The task's kernel took that long.
    void ran(const Task& task, std::int64_t nanoseconds) {
        if (Entry* entry = entry_of(task)) entry->took = nanoseconds;
    }
    /// The task completes. Before its slot can get another task.
    void completed(const Task& task);

  private:
    struct Entry {
        std::uint32_t generation = 0;
        std::uint8_t node = 0;
        bool here = false;  ///< of a task that has not completed
        PlacePlan::Time share = 0;
        std::int64_t took = 0;  ///< 0: its kernel did not run
        LearntTimes* times = nullptr;
    };
    static constexpr std::uint32_t chunk_slots = TaskPool::chunk_slots;
    using Chunk = std::array<Entry, chunk_slots>;

    /// nullptr for a task that is not observed.
    Entry* entry_of(const Task& task) const {
        // acquire: a task that is not observed was published before the chunk was, perhaps
        Chunk* chunk = chunks_[task.slot / chunk_slots].load(std::memory_order_acquire);
        if (chunk == nullptr) return nullptr;
        Entry& entry = (*chunk)[task.slot % chunk_slots];
        return entry.here && entry.generation == task.generation() ? &entry : nullptr;
    }

    PlacePlan& plan_;
    const std::unique_ptr<std::atomic<Chunk*>[]> chunks_;  ///< as the task pool's
    std::vector<std::unique_ptr<Chunk>> owned_;
};

}  // namespace basalt::detail
