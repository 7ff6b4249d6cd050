#include "runtime/execution/commute.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <mutex>
#include <span>

#include "base/prefetch.hpp"
#include "runtime/graph/region_overlap.hpp"
#include "runtime/graph/scope.hpp"

namespace basalt::detail {

namespace {

bool same_region(const BoundAccess& a, const BoundAccess& b) {
    return a.row_begin == b.row_begin && a.row_end == b.row_end && a.col_begin == b.col_begin && a.col_end == b.col_end;
}

/// The thread that submitted the task has it in its cache; another one is going to run it soon.
void prefetch(const Task* task) {
    for (std::size_t line = 0; line < 3; ++line) {
        prefetch_to_write(reinterpret_cast<const char*>(task) + 64 * line);
    }
}

}  // namespace

/// Whether tasks of `scope` work on behalf of the place's holder: are its children, or a child's children. The holder
/// itself is not looked at: it may be handing the place on.
bool CommuteArbiter::descends_from_holder(const Scope* scope, const Place& place) {
    const Task* holder = place.holder.load(std::memory_order_relaxed);
    // the scope that the holder belongs to is as many levels up as the levels differ
    for (; scope->level > place.scope->level; scope = scope->parent) {
        if (scope->owner == holder) return true;
    }
    return false;
}

void CommuteArbiter::Queue::insert(const Waiter& waiter) {
    if (empty() || waiters_.back().number < waiter.number) {
        waiters_.push_back(waiter);
        return;
    }
    const auto begin = waiters_.begin() + static_cast<std::ptrdiff_t>(first_);
    waiters_.insert(std::upper_bound(begin, waiters_.end(), waiter,
                                     [](const Waiter& a, const Waiter& b) { return a.number < b.number; }),
                    waiter);
}

void CommuteArbiter::Queue::pop_front() {
    ++first_;
    // half of it is used up: moving the rest costs less than what was popped since the last time
    if (2 * first_ < waiters_.size()) return;
    waiters_.erase(waiters_.begin(), waiters_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
}

CommuteArbiter::Place& CommuteArbiter::Places::at(const BoundAccess& region, const Scope* scope, std::size_t& count) {
    auto position = std::partition_point(by_row_.begin(), by_row_.end(),
                                         [&](const auto& place) { return place->region.row_begin < region.row_begin; });
    for (; position != by_row_.end() && (*position)->region.row_begin == region.row_begin; ++position) {
        if ((*position)->scope == scope && same_region((*position)->region, region)) return **position;
    }
    most_rows_ = std::max(most_rows_, region.row_end - region.row_begin);
    ++count;
    return **by_row_.insert(position, std::make_unique<Place>(region, scope, this));
}

template <class F>
bool CommuteArbiter::Places::any_overlapping(const BoundAccess& region, const F& visit) const {
    // places that begin further up end before the region
    const Index too_far = region.row_begin - most_rows_;
    auto position = std::partition_point(by_row_.begin(), by_row_.end(),
                                         [&](const auto& place) { return place->region.row_begin <= too_far; });
    for (; position != by_row_.end() && (*position)->region.row_begin < region.row_end; ++position) {
        if (regions_overlap((*position)->region, region) && visit(**position)) return true;
    }
    return false;
}

std::size_t CommuteArbiter::Places::forget_idle() {
    std::erase_if(by_row_, [](const auto& place) { return place->idle(); });
    most_rows_ = 0;
    for (const auto& place : by_row_) {
        most_rows_ = std::max(most_rows_, place->region.row_end - place->region.row_begin);
    }
    return by_row_.size();
}

const CommuteArbiter::PlaceList& CommuteArbiter::places_of(const Task& task) {
    own_.clear();
    const BoundAccess* access = task.access_begin();
    for (std::uint32_t i = 0; i < task.access_count; ++i) {
        if (access[i].mode != AccessMode::commute) continue;
        if (access[i].version != last_version_) {
            last_places_ = &places_[access[i].version];
            last_version_ = access[i].version;
        }
        own_.push_back(&last_places_->at(access[i], task.scope, count_));
    }
    return own_;
}

/// Whether somebody holds a part of the place, other than an ancestor of those who commute there.
bool CommuteArbiter::blocked(const Place& place) {
    return place.all->any_overlapping(place.region, [&](const Place& other) {
        return other.holder.load(std::memory_order_relaxed) != nullptr && !descends_from_holder(place.scope, other);
    });
}

bool CommuteArbiter::acquire_new(Task& task) {
    const std::lock_guard guard(lock_);
    const PlaceList& own = places_of(task);
    Place* blocking = take(task, own);
    if (blocking != nullptr) blocking->waiting.insert({next_number_++, &task, own.size() > 1});
    return blocking == nullptr;
}

/// The task gets the places. Where one of them is blocked it gets none, and that one is returned.
CommuteArbiter::Place* CommuteArbiter::take(Task& task, std::span<Place* const> places) {
    const auto blocking =
        std::find_if(places.begin(), places.end(), [](const Place* place) { return blocked(*place); });
    if (blocking != places.end()) return *blocking;
    if (places.size() == 1) {
        give(*places[0], task);
    } else {
        for (Place* place : places) place->holder.store(&task, std::memory_order_relaxed);
        task.has_regions = true;
    }
    return nullptr;
}

/// The place becomes that of the task, which needs no other.
void CommuteArbiter::give(Place& place, Task& task) {
    place.holder.store(&task, std::memory_order_relaxed);
    task.set_place(&place);
    task.has_regions = true;
}

/// If the task's place has a row, the next one of it gets the place.
bool CommuteArbiter::hand_on(const Task& task, std::vector<Task*>& released) {
    if (!task.has_place) return false;
    Place& place = *static_cast<Place*>(task.place());
    if (place.next_in_row == place.row.size()) return false;
    Task& next = *place.row[place.next_in_row++];
    if (place.next_in_row < place.row.size()) prefetch(place.row[place.next_in_row]);
    give(place, next);
    released.push_back(&next);
    return true;
}

void CommuteArbiter::release_all(const Task& task, std::vector<Task*>& released) {
    __builtin_prefetch(task.access_begin());  // another core may have them: not under the lock
    const std::lock_guard guard(lock_);
    const PlaceList& own = places_of(task);
    for (Place* place : own) place->holder.store(nullptr, std::memory_order_relaxed);
    candidates_.clear();
    for (const Place* place : own) {
        place->all->any_overlapping(place->region, [&](Place& other) {
            if (!other.waiting.empty()) candidates_.push_back(&other);
            return false;
        });
    }
    std::sort(candidates_.begin(), candidates_.end());
    candidates_.erase(std::unique(candidates_.begin(), candidates_.end()), candidates_.end());
    let_through(released);
    if (count_ >= many_) forget_idle();
}

/// Of the tasks that wait at the candidates, those that may run now, in the order in which they came.
void CommuteArbiter::let_through(std::vector<Task*>& released) {
    while (!candidates_.empty()) {
        const auto earliest = std::min_element(
            candidates_.begin(), candidates_.end(),
            [](const auto* a, const auto* b) { return a->waiting.front().number < b->waiting.front().number; });
        Place* place = *earliest;
        if (!blocked(*place)) {
            const Waiter first = place->waiting.front();
            place->waiting.pop_front();
            const std::span<Place* const> needed =
                first.elsewhere ? std::span<Place* const>(places_of(*first.task)) : std::span<Place* const>(&place, 1);
            if (Place* blocking = take(*first.task, needed)) {
                blocking->waiting.insert(first);
            } else {
                released.push_back(first.task);
                if (!first.elsewhere) begin_row(*place);
            }
            if (!place->waiting.empty()) {
                prefetch(place->waiting.front().task);
                continue;
            }
        }
        *earliest = candidates_.back();
        candidates_.pop_back();
    }
}

/// Those that wait behind the place's new holder, as far as they came before what waits at overlapping places.
void CommuteArbiter::begin_row(Place& place) const {
    std::uint64_t first_elsewhere = std::numeric_limits<std::uint64_t>::max();
    for (const Place* other : candidates_) {
        if (other != &place) first_elsewhere = std::min(first_elsewhere, other->waiting.front().number);
    }
    place.row.clear();
    place.next_in_row = 0;
    while (!place.waiting.empty() && place.row.size() < most_in_a_row) {
        const Waiter& next = place.waiting.front();
        if (next.elsewhere || next.number > first_elsewhere) return;
        place.row.push_back(next.task);
        place.waiting.pop_front();
    }
}

void CommuteArbiter::forget_idle() {
    count_ = 0;
    last_version_ = nullptr;
    for (auto entry = places_.begin(); entry != places_.end();) {
        const std::size_t left = entry->second.forget_idle();
        count_ += left;
        entry = left == 0 ? places_.erase(entry) : std::next(entry);
    }
    many_ = std::max<std::size_t>(64, 2 * count_);
}

}  // namespace basalt::detail
