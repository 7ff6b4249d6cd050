#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/spin_lock.hpp"
#include "runtime/graph/task.hpp"

namespace basalt::detail {

/// Keeps commuting tasks apart: of tasks whose commute regions overlap, one at a time is let through.
///
/// A task takes all its regions at once or none, so two tasks can never hold parts of what both need. A task that must
/// wait does so at one region that is blocked. A task that frees a region looks at the first task that waits there, and
/// at overlapping regions: a task costs the same however many wait. Tasks are let through in the order in which they
/// came, as far as their regions are free.
///
/// Tasks that wait at one region and need no other get it in a row: who frees it takes up to `most_in_a_row` of them
/// from the queue, and each hands the region to the next without the lock, on the same thread where priorities allow.
/// So a task costs about as much as one of a chain of readwrite tasks. Tasks that need more, and those of overlapping
/// regions that came earlier, end the row.
///
/// Any thread may call; one lock guards everything, since a task may need regions of several data and its section is
/// short. Only rows belong to the tasks that hold their regions: to the thread that completes the holder, and from then
/// on to the thread that completes the next one. What orders the two tasks orders these threads.
class CommuteArbiter {
  public:
    /// True: the task holds its regions (perhaps since an earlier call) and may run. False: it is kept and will come
    /// out of release().
    bool acquire(Task& task) {
        // written under the lock by the thread that let the task through, before it passed the task on
        return task.has_regions || acquire_new(task);
    }

    /// Frees the task's regions; appends the tasks that may run now to `released`. They hold their regions.
    void release(const Task& task, std::vector<Task*>& released) {
        if (!hand_on(task, released)) release_all(task, released);
    }

    static constexpr std::size_t most_in_a_row = 64;

  private:
    struct Waiter {
        std::uint64_t number;  ///< in the order in which they came
        Task* task;
        bool elsewhere;  ///< it needs other places, too
    };
    /// First in, first out, apart from tasks that waited elsewhere before. Keeps its memory.
    class Queue {
      public:
        bool empty() const { return first_ == waiters_.size(); }
        const Waiter& front() const { return waiters_[first_]; }
        void insert(const Waiter& waiter);
        void pop_front();

      private:
        std::vector<Waiter> waiters_;
        std::size_t first_ = 0;
    };
    class Places;
    /// A region on which tasks of one scope commute. What blocks one of them blocks them all: they have the same
    /// ancestors, and it is those that may hold what their descendants use.
    struct Place {
        Place(const BoundAccess& region, const Scope* scope, const Places* all)
            : region(region), scope(scope), all(all) {}

        BoundAccess region;
        const Scope* scope;
        const Places* all;  ///< those of the same version
        /// Written under the lock, or by the thread that hands the place on. Relaxed suffices: other threads only ask
        /// whether there is one, and whether it is an ancestor of theirs; who works for the holder knows of it.
        std::atomic<const Task*> holder = nullptr;
        Queue waiting;
        std::vector<Task*> row{};  ///< of the holder: those that get the place next, without other regions
        std::size_t next_in_row = 0;

        bool idle() const { return holder.load(std::memory_order_relaxed) == nullptr && waiting.empty(); }
    };
    /// The places of one version, by their first row.
    class Places {
      public:
        /// Makes the place if it is new, and counts it.
        Place& at(const BoundAccess& region, const Scope* scope, std::size_t& count);
        /// visit(place) for every place that overlaps the region, until it returns true. Whether it did.
        template <class F>
        bool any_overlapping(const BoundAccess& region, const F& visit) const;
        /// Forgets idle places. How many are left.
        std::size_t forget_idle();

      private:
        std::vector<std::unique_ptr<Place>> by_row_;
        Index most_rows_ = 0;  ///< of a place
    };
    using PlaceList = std::vector<Place*>;

    bool acquire_new(Task& task);
    static bool hand_on(const Task& task, std::vector<Task*>& released);
    void release_all(const Task& task, std::vector<Task*>& released);
    static void give(Place& place, Task& task);
    static bool descends_from_holder(const Scope* scope, const Place& place);
    void begin_row(Place& place) const;
    /// The places that the task needs.
    const PlaceList& places_of(const Task& task);
    static bool blocked(const Place& place);
    static Place* take(Task& task, std::span<Place* const> places);
    void let_through(std::vector<Task*>& released);
    void forget_idle();

    alignas(64) SpinLock lock_;  // guards what follows; apart, since threads that wait look at it
    /// The version that was looked for last.
    alignas(64) const Version* last_version_ = nullptr;
    Places* last_places_ = nullptr;
    /// Idle places stay until there are many: a region that is used once is used again.
    std::unordered_map<const Version*, Places> places_;
    std::size_t count_ = 0;  ///< of places
    std::size_t many_ = 64;
    std::uint64_t next_number_ = 0;
    PlaceList own_;         // scratch: the places of the task at hand
    PlaceList candidates_;  // scratch: places where somebody may be let through
};

}  // namespace basalt::detail
