#include "schedulers/priority_stealing.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/prefetch.hpp"
#include "runtime/graph/task.hpp"

namespace basalt::detail {

namespace {

constexpr std::size_t first_capacity = 64;
constexpr std::size_t most_stolen = 256;
constexpr std::size_t ahead = 4;

}  // namespace

void PriorityBuckets::Bucket::push_back(Task* task) {
    if (count == ring.size()) {
        std::vector<Task*> larger(std::max(first_capacity, 2 * ring.size()));
        for (std::size_t i = 0; i < count; ++i) larger[i] = ring[(first + i) & (ring.size() - 1)];
        ring = std::move(larger);
        first = 0;
    }
    ring[(first + count++) & (ring.size() - 1)] = task;
}

Task* PriorityBuckets::Bucket::pop_front() {
    Task* task = ring[first];
    first = (first + 1) & (ring.size() - 1);
    --count;
    return task;
}

PriorityBuckets::Bucket& PriorityBuckets::bucket_for(int priority) {
    if (size_ == 0 && !buckets_.empty()) buckets_.back()->priority = priority;  // the one kept empty
    if (!buckets_.empty() && buckets_.back()->priority == priority) return *buckets_.back();
    auto at = std::lower_bound(buckets_.begin(), buckets_.end(), priority,
                               [](const auto& bucket, int p) { return bucket->priority < p; });
    if (at != buckets_.end() && (*at)->priority == priority) return **at;
    std::unique_ptr<Bucket> bucket;
    if (unused_.empty()) {
        bucket = std::make_unique<Bucket>();
    } else {
        bucket = std::move(unused_.back());
        unused_.pop_back();
    }
    bucket->priority = priority;
    return **buckets_.insert(at, std::move(bucket));
}

void PriorityBuckets::push(Task* task, int priority) {
    bucket_for(priority).push_back(task);
    ++size_;
}

void PriorityBuckets::retire_empty_top() {
    // The last bucket left is kept for the next push, which most often is of the same priority.
    while (buckets_.size() > 1 && buckets_.back()->count == 0) {
        unused_.push_back(std::move(buckets_.back()));
        buckets_.pop_back();
    }
}

Task* PriorityBuckets::pop_newest() {
    Bucket& top = *buckets_.back();
    Task* task = top.pop_back();
    // Stolen tasks lie in another core's caches: have the one that comes a few turns later on its way.
    if (top.count >= ahead) {
        const auto* soon =
            reinterpret_cast<const char*>(top.ring[(top.first + top.count - ahead) & (top.ring.size() - 1)]);
        prefetch_to_write(soon);
        prefetch_to_write(soon + 64);
    }
    --size_;
    retire_empty_top();
    return task;
}

void PriorityBuckets::take_oldest(std::vector<Task*>& taken, std::size_t limit) {
    Bucket& top = *buckets_.back();
    const std::size_t count = std::min(limit, (top.count + 1) / 2);
    for (std::size_t i = 0; i < count; ++i) taken.push_back(top.pop_front());
    size_ -= count;
    retire_empty_top();
}

PriorityStealing::PriorityStealing(Neighbours places) : places_(std::move(places)) {
    for (int i = 0; i < places_.places(); ++i) {
        queues_.push_back(std::make_unique<Queue>());
        queues_.back()->next.resize(places_.groups_of(i).size());
    }
}

bool PriorityStealing::push(std::optional<int> place, Task* const* tasks, std::size_t count) {
    // a thread without a place leaves its tasks with place 0, which it works when it waits
    Queue& queue = *queues_[static_cast<std::size_t>(place.value_or(0))];
    const std::lock_guard guard(queue.lock);
    const bool was_empty = queue.tasks.empty();
    for (std::size_t i = 0; i < count; ++i) queue.tasks.push(tasks[i], tasks[i]->priority);
    queue.publish_size();
    return was_empty;
}

Scheduler::Found PriorityStealing::pop(int place) {
    Queue& own = *queues_[static_cast<std::size_t>(place)];
    if (own.size.load(std::memory_order_relaxed) > 0) {
        const std::lock_guard guard(own.lock);
        if (!own.tasks.empty()) {
            Task* task = own.tasks.pop_newest();
            own.publish_size();
            return {task};
        }
    }
    return steal(own, place);
}

Task* PriorityStealing::exchange(int place, Task* candidate) {
    Queue& own = *queues_[static_cast<std::size_t>(place)];
    if (own.size.load(std::memory_order_relaxed) == 0) return candidate;
    const std::lock_guard guard(own.lock);
    if (own.tasks.empty() || own.tasks.top_priority() <= candidate->priority) return candidate;
    Task* better = own.tasks.pop_newest();
    own.tasks.push(candidate, candidate->priority);
    return better;
}

/// Moves tasks to thief.loot; false where there are none.
bool PriorityStealing::steal_from(Queue& victim, Queue& thief) {
    if (victim.size.load(std::memory_order_acquire) == 0) return false;
    const std::lock_guard guard(victim.lock);
    if (victim.tasks.empty()) return false;
    victim.tasks.take_oldest(thief.loot, most_stolen);
    victim.publish_size();
    return true;
}

Scheduler::Found PriorityStealing::steal(Queue& thief, int place) {
    const auto& groups = places_.groups_of(place);
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const auto others = static_cast<std::uint32_t>(groups[g].size());
        for (std::uint32_t i = 0, at = thief.next[g]; i < others; ++i, at = at + 1 < others ? at + 1 : 0) {
            if (!steal_from(*queues_[groups[g][at]], thief)) continue;
            thief.next[g] = at;
            return keep_loot(thief);
        }
    }
    return {};
}

/// The thief runs the first of what it has stolen.
Scheduler::Found PriorityStealing::keep_loot(Queue& thief) {
    Task* task = thief.loot.front();
    const bool keeps_more = thief.loot.size() > 1;
    if (keeps_more) {
        const std::lock_guard guard(thief.lock);
        // the oldest on top: it runs next, as it would have at its owner's other end
        for (std::size_t k = thief.loot.size() - 1; k > 0; --k)
            thief.tasks.push(thief.loot[k], thief.loot[k]->priority);
        thief.publish_size();
    }
    thief.loot.clear();
    return {task, keeps_more};
}

bool PriorityStealing::empty() const {
    return std::all_of(queues_.begin(), queues_.end(),
                       [](const auto& queue) { return queue->size.load(std::memory_order_acquire) == 0; });
}

}  // namespace basalt::detail
