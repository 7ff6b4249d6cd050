#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/spin_lock.hpp"
#include "runtime/execution/scheduler.hpp"

namespace basalt::detail {

/// Ready tasks by priority: the newest of the highest priority from one end, the oldest from the other.
/// Not synchronised.
class PriorityBuckets {
  public:
    void push(Task* task, int priority);
    Task* pop_newest();
    /// Moves the older half of the highest priority, at most `limit`, to `taken`, oldest first.
    void take_oldest(std::vector<Task*>& taken, std::size_t limit);
    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    /// Of what pop_newest() would return. Undefined when empty.
    int top_priority() const { return buckets_.back()->priority; }

  private:
    /// A ring of tasks of one priority. Capacity is a power of two and only grows.
    struct Bucket {
        int priority = 0;
        std::size_t first = 0;
        std::size_t count = 0;
        std::vector<Task*> ring;

        void push_back(Task* task);
        Task* pop_back() { return ring[(first + --count) & (ring.size() - 1)]; }
        Task* pop_front();
    };

    Bucket& bucket_for(int priority);
    void retire_empty_top();

    std::vector<std::unique_ptr<Bucket>> buckets_;  // ascending priority; an empty one only when there are no tasks
    std::vector<std::unique_ptr<Bucket>> unused_;
    std::size_t size_ = 0;
};

/// The default: each place has a queue of its own and works it by priority, newest first (its data are in
/// the caches); a place that runs dry steals the older half of another one's highest priority, from the nearest that
/// has tasks.
///
/// Sources: work stealing, Blumofe and Leiserson 1999 (J. ACM 46:5); stealing half, Hendler and Shavit 2002.
class PriorityStealing final : public Scheduler {
  public:
    explicit PriorityStealing(Neighbours places);

    bool push(std::optional<int> place, Task* const* tasks, std::size_t count) override;
    Found pop(int place) override;
    Task* exchange(int place, Task* candidate) override;
    const std::atomic<std::size_t>* queued(int place) const override {
        return &queues_[static_cast<std::size_t>(place)]->size;
    }
    bool empty() const override;

  private:
    struct alignas(64) Queue {
        SpinLock lock;  // guards tasks; size follows it for those who only look
        std::atomic<std::size_t> size{0};
        PriorityBuckets tasks;
        std::vector<Task*> loot;          // touched by the owning place alone
        std::vector<std::uint32_t> next;  ///< in each group of neighbours, whom to steal from first

        void publish_size() { size.store(tasks.size(), std::memory_order_release); }
    };

    Found steal(Queue& thief, int place);

    static bool steal_from(Queue& victim, Queue& thief);
    static Found keep_loot(Queue& thief);

    const Neighbours places_;
    std::vector<std::unique_ptr<Queue>> queues_;
};

}  // namespace basalt::detail
