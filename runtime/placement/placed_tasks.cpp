#include "runtime/placement/placed_tasks.hpp"

#include "runtime/graph/scope.hpp"

namespace basalt::detail {

PlacedTasks::PlacedTasks(PlacePlan& plan)
    : plan_(plan), chunks_(new std::atomic<Chunk*>[TaskPool::max_slots / chunk_slots]()) {}

void PlacedTasks::add(const Task& task, Node node, PlacePlan::Time share, LearntTimes& times) {
    std::atomic<Chunk*>& chunk = chunks_[task.slot / chunk_slots];
    if (chunk.load(std::memory_order_relaxed) == nullptr) {
        owned_.push_back(std::make_unique<Chunk>());
        chunk.store(owned_.back().get(), std::memory_order_release);
    }
    times.place();
    (*chunk.load(std::memory_order_relaxed))[task.slot % chunk_slots] = {.generation = task.generation(),
                                                                         .node = static_cast<std::uint8_t>(node),
                                                                         .here = true,
                                                                         .share = share,
                                                                         .times = &times};
}

void PlacedTasks::completed(const Task& task) {
    Entry* entry = entry_of(task);
    if (entry == nullptr) return;
    entry->here = false;
    plan_.leave(entry->node, entry->share);
    // a kernel that a cancelled graph cut short tells nothing
    if (entry->took > 0 && !task.scope->drained()) {
        entry->times->add(static_cast<double>(entry->took) * 1e-9);
    } else {
        entry->times->take_back();
    }
}

}  // namespace basalt::detail
