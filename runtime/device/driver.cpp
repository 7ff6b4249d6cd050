#include "runtime/device/driver.hpp"

#include <algorithm>
#include <chrono>

#include <spdlog/spdlog.h>

#include "runtime/device/broadcast.hpp"
#include "runtime/engine.hpp"
#include "runtime/topology.hpp"

namespace basalt::detail {

namespace {

// Work enqueued ahead is bounded, so that a cancelled graph ends soon: about half a second, counted by what tasks of
// the same name took before, and so many tasks a stream.
constexpr std::int64_t most_ahead_ns = 500'000'000;
constexpr std::size_t most_in_flight = 256;

// Between two looks at the device. A GPU has a core for its driver; an emulated one shares the cores with its own kernels.
constexpr auto emulated_pause = std::chrono::microseconds(50);
constexpr int pauses_between_looks = 20;

bool computes(StreamRole role) { return role == StreamRole::compute || role == StreamRole::urgent_compute; }

}  // namespace

Driver::Driver(Engine& engine, Device& device, int place)
    : engine_(engine), device_(device), worker_(place) {}

Driver::~Driver() { stop(); }

void Driver::stop() {
    {
        const std::lock_guard guard(lock_);
        stop_ = true;
    }
    pushed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void Driver::push(Task& task) {
    const std::lock_guard guard(lock_);
    ready_.push({task.priority, arrivals_++, &task});
    if (!thread_.joinable()) thread_ = std::thread([this] { main(); });
    // release: pairs with the driver's look at it
    queued_.store(ready_.size(), std::memory_order_release);
    if (asleep_) pushed_.notify_one();
}

void Driver::main() {
    // Polls: on a core that no worker is bound to, if there is one left.
    const bool core_left = worker_.place < usable_cores();
    if (core_left && !device_.emulated() && engine_.config().bind) bind_this_thread(worker_.place);
    try {
        device_.attach_thread();
    } catch (const DeviceError& error) {  // every task will say so again
        spdlog::error("basalt: {}", error.what());
    }
    while (true) {
        const bool completed = complete_reached();
        const bool enqueued = enqueue_next();
        if (completed || enqueued) continue;
        if (in_flight_count_ == 0) {
            if (!sleep()) return;
        } else if (device_.emulated()) {
            std::this_thread::sleep_for(emulated_pause);
        } else {
            for (int i = 0; i < pauses_between_looks; ++i) cpu_relax();
        }
    }
}

/// Until something is pushed; false when the runtime ends.
bool Driver::sleep() {
    engine_.announce_quiescence();
    std::unique_lock guard(lock_);
    asleep_ = true;
    pushed_.wait(guard, [this] { return stop_ || !ready_.empty(); });
    asleep_ = false;
    return !stop_ || !ready_.empty();
}

/// Enqueues the best task that may go ahead; false when there is none.
bool Driver::enqueue_next() {
    if (queued_.load(std::memory_order_acquire) == 0) return false;
    Task* task = nullptr;
    {
        const std::lock_guard guard(lock_);
        if (ready_.empty()) return false;
        const DeviceWork& work = *ready_.top().task->on_device();
        const bool far_ahead = ahead_ns_ >= most_ahead_ns && work.role == StreamRole::compute;
        if (far_ahead || stream(work.role).size() >= most_in_flight) return false;
        task = ready_.top().task;
        ready_.pop();
        queued_.store(ready_.size(), std::memory_order_release);
    }
    enqueue(*task);
    return true;
}

void Driver::enqueue(Task& task) {
    DeviceWork& work = *task.on_device();
    InFlight flight{&task, {}, 0, TraceRecorder::now(), expected_time(task)};
    try {
        work.waits.for_each([&](const StreamPoint& point) {
            device_.wait_for(work.role, engine_.device(point.device), point.role, point.ticket);
        });
        if (engine_.trace().enabled()) flight.begin = device_.record(work.role, true);
        // a task of a cancelled graph still holds its place in the order
        if (work.operation) {
            work.operation(*this, flight.ends);
        } else if (!task.scope->drained()) {
            device_.launch(work.role, [&task](Stream stream) { task.ops->run_on_device(task.kernel_storage(), stream); });
        }
    } catch (...) {
        failed(task);
    }
    try {
        if (flight.ends.empty()) {
            flight.ends.push_back({device_.index(), work.role, device_.record(work.role, flight.begin != 0)});
        }
    } catch (...) {  // a lost device has no place in its streams: the task ends here
        failed(task);
    }
    ahead_ns_ += flight.expected;
    work.publish(flight.ends);
    ++in_flight_count_;
    stream(work.role).push_back(std::move(flight));
    engine_.release_enqueued(task);
}

void Driver::failed(Task& task) {
    const DeviceWork& work = *task.on_device();
    if (work.failed) work.failed();
    engine_.fail(task, device_.name());
}

bool Driver::complete_reached() {
    bool any = false;
    for (std::deque<InFlight>& flights : in_flight_) {
        while (!flights.empty() && arrived(flights.front())) {
            InFlight flight = std::move(flights.front());
            flights.pop_front();
            --in_flight_count_;
            complete(flight);
            any = true;
        }
    }
    return any;
}

/// Whether the device has got to the task's ends. What failed on the way counts as this task's: it is the first one of
/// its stream that has not completed.
bool Driver::arrived(InFlight& flight) {
    while (!flight.ends.empty()) {
        const StreamPoint& end = flight.ends.back();
        try {
            if (!engine_.device(end.device).reached(end.role, end.ticket)) return false;
        } catch (...) {
            failed(*flight.task);
            // reported; now for the point itself, or the next failure. A lost device gets nowhere any more.
            if (!engine_.device(end.device).lost()) continue;
        }
        if (flight.ends.size() == 1) break;
        flight.ends.pop_back();
    }
    return true;
}

void Driver::complete(InFlight& flight) {
    Task& task = *flight.task;
    learn(flight);
    if (flight.begin != 0 && !flight.ends.empty()) record_trace(flight);
    engine_.finish(task, worker_);
    engine_.hand_on(worker_);
}

void Driver::record_trace(const InFlight& flight) {
    const DeviceWork& work = *flight.task->on_device();
    try {
        const StreamPoint& end = flight.ends.front();
        const std::int64_t begin_ns = device_.time_of(work.role, flight.begin);
        const std::int64_t end_ns = engine_.device(end.device).time_of(end.role, end.ticket);
        engine_.trace().record_device(device_.index(), work.role, *flight.task, begin_ns, std::max(begin_ns, end_ns),
                                      work.bytes);
    } catch (const DeviceError& error) {
        spdlog::debug("basalt: no time for a task of the trace: {}", error.what());
    }
}

std::int64_t Driver::expected_time(const Task& task) const {
    const auto known = learnt_.find(task.name);
    return known != learnt_.end() ? known->second : 0;
}

/// How long tasks of this name take, from when the stream was free for it; a moving average.
void Driver::learn(const InFlight& flight) {
    const auto role = flight.task->on_device()->role;
    const std::int64_t now = TraceRecorder::now();
    std::int64_t& last = last_completion_[static_cast<std::size_t>(role)];
    ahead_ns_ -= flight.expected;
    if (computes(role)) {
        const std::int64_t took = now - std::max(last, flight.enqueued);
        std::int64_t& average = learnt_[flight.task->name];
        average = average == 0 ? took : (3 * average + took) / 4;
    }
    last = now;
}

void Driver::copy(StreamRole role, Device* peer, const Copy& copy) const {
    if (copy.row_bytes == 0) return;
    if (peer != nullptr) {
        device_.copy_to_peer(role, *peer, copy);
    } else {
        device_.copy(role, copy);
    }
}

void Driver::broadcast(const BroadcastPlan& plan, std::vector<StreamPoint>& ends) const { ends = enqueue_broadcast(plan); }

}  // namespace basalt::detail
