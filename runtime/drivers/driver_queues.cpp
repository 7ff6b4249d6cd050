// Which of the tasks that are ready a driver enqueues next.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

#include "runtime/drivers/driver.hpp"

namespace basalt::detail {

namespace {

// Copies without priority are enqueued a few at a time, so that an urgent copy finds few in front of it, and between
// device and host only when nothing keeps them from running.
constexpr std::size_t most_patient_copies = 4;

// For how long ready tasks are enqueued, one after the other, before the next look at what the device has completed: a
// look is a call for each stream that has work, which would hold up the launches of tasks that are ready together.
constexpr std::int64_t between_looks_ns = 20'000;

}  // namespace

bool Driver::enqueue_ready() {
    if (queued_.load(std::memory_order_acquire) == 0 || !enqueue_round()) return false;
    const std::int64_t end = TraceRecorder::now() + between_looks_ns;
    while (queued_.load(std::memory_order_acquire) > 0 && !p_.observers.left() && TraceRecorder::now() < end &&
           enqueue_round()) {
    }
    return true;
}

/// Enqueues the best task of each stream that may go ahead; false when there is none.
bool Driver::enqueue_round() {
    bool any = false;
    for (std::size_t i = 0; i < pool_.streams().size(); ++i) {
        Task* task = take_ready(pool_.streams()[i]);
        if (task == nullptr) continue;
        enqueue(*task);
        any = true;
    }
    for (const StreamRole first : {StreamRole::compute, StreamRole::urgent_compute})
        any = enqueue_in_pool(first) || any;
    return any;
}

Task* Driver::take_ready(StreamRole role) {
    {
        const std::lock_guard guard(lock_);
        ReadyQueue& queue = ready_[static_cast<std::size_t>(role)];
        while (is_with_host(role) && !queue.empty() && queue.top().priority <= 0) {
            waiting_[static_cast<std::size_t>(role)].add(queue.top());
            queue.pop();
        }
        if (!queue.empty() && may_be_next(*queue.top().task, role)) {
            Task* task = queue.top().task;
            queue.pop();
            queued_.fetch_sub(1, std::memory_order_relaxed);
            return task;
        }
    }
    return is_with_host(role) ? take_waiting(role) : nullptr;
}

Task* Driver::take_waiting(StreamRole role) {
    if (!may_take_patient_copy(role)) return nullptr;
    Task* const task = waiting_[static_cast<std::size_t>(role)].take([this](const Task& copy) {
        bool completed = true;
        copy.on_device()->waits.for_each([&](const StreamPoint& point) { completed &= has_completed(point); });
        return completed;
    });
    if (task != nullptr) queued_.fetch_sub(1, std::memory_order_relaxed);
    return task;
}

/// Whether the stream is past that point, as far as this driver knows. Of other devices it does not know: the copy's
/// stream then waits for them.
bool Driver::has_completed(const StreamPoint& point) const {
    if (point.device != device_.index()) return true;
    const std::deque<InFlight>& flights = stream(point.role);
    return flights.empty() || flights.front().end == 0 || flights.front().end > point.ticket;
}

bool Driver::may_be_next(const Task& task, StreamRole role) const {
    if (task.on_device()->any_stream) return pool_.has_room_in_pool(role);
    if (!computes(role) && task.priority <= 0) return may_take_patient_copy(role);
    return pool_.has_room(role);
}

bool Driver::may_take_patient_copy(StreamRole role) const {
    return stream(role).size() < most_patient_copies && pool_.has_room(role);
}

/// Enqueues the best task whose stream is not given. If it belongs behind another one, on a stream without room, it
/// waits for that stream, and does not hold up the others.
bool Driver::enqueue_in_pool(StreamRole first) {
    ReadyQueue& queue = in_any_[static_cast<std::size_t>(first)];
    ReadyForDevice best{};
    {
        const std::lock_guard guard(lock_);
        if (queue.empty()) return false;
        best = queue.top();
        queue.pop();
    }
    DeviceWork& work = *best.task->on_device();
    // not under the lock: it may make a stream
    const auto chosen = pool_.choose(first, work.waits);
    if (chosen) work.role = *chosen;
    const bool now = chosen && pool_.has_room_in_pool(*chosen);
    if (!now) {
        if (chosen) pool_.claim(*chosen);
        const std::lock_guard guard(lock_);
        (chosen ? ready_[static_cast<std::size_t>(*chosen)] : queue).push(best);
        return chosen.has_value();
    }
    queued_.fetch_sub(1, std::memory_order_relaxed);
    enqueue(*best.task);
    return true;
}

}  // namespace basalt::detail
