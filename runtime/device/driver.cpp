#include "runtime/device/driver.hpp"

#include <algorithm>
#include <chrono>

#include <spdlog/spdlog.h>

#include "runtime/device/broadcast.hpp"
#include "runtime/engine.hpp"
#include "runtime/topology.hpp"

namespace basalt::detail {

namespace {

// Work enqueued ahead is bounded, so that a cancelled graph ends soon: about half a second a stream, counted by what
// tasks of the same name took before, and so many tasks. Of tasks that are new, a few.
constexpr std::int64_t most_ahead_ns = 500'000'000;
constexpr std::int64_t assumed_ns = most_ahead_ns / 4;
constexpr std::size_t most_in_flight = 256;

// Copies that nobody has asked to hurry: an urgent one is to find few of them in front of it.
constexpr std::size_t most_patient_copies = 4;

// Between two looks at the device. A GPU has a core for its driver; an emulated one shares the cores with its own
// kernels.
constexpr auto emulated_pause = std::chrono::microseconds(50);
constexpr int pauses_between_looks = 20;

thread_local Driver* driver_of_thread = nullptr;

bool computes(StreamRole role) { return role == StreamRole::compute || role == StreamRole::urgent_compute; }

}  // namespace

Driver::Driver(Engine& engine, Device& device, int place) : engine_(engine), device_(device), worker_(place) {}

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
    ready_[static_cast<std::size_t>(task.on_device()->role)].push({task.priority, arrivals_++, &task});
    if (!thread_.joinable()) thread_ = std::thread([this] { main(); });
    // release: pairs with the driver's look at it
    queued_.fetch_add(1, std::memory_order_release);
    if (asleep_) pushed_.notify_one();
}

Driver* Driver::current(const Engine& engine) {
    return driver_of_thread != nullptr && &driver_of_thread->engine_ == &engine ? driver_of_thread : nullptr;
}

void Driver::main() {
    driver_of_thread = this;
    // Polls: on a core that no worker is bound to, if there is one left.
    const bool core_left = worker_.place < usable_cores();
    if (core_left && !device_.emulated() && engine_.config().bind) bind_this_thread(worker_.place);
    try {
        device_.attach_thread();
    } catch (const DeviceError& error) {  // every task will say so again
        spdlog::error("basalt: {}", error.what());
    }
    while (true) {
        if (step()) continue;
        if (in_flight_count_ > 0) {
            pause();
        } else if (!sleep()) {
            return;
        }
    }
}

void Driver::serve_until(const std::function<bool()>& done,
                         std::optional<std::chrono::steady_clock::time_point> deadline) {
    engine_.hand_on(worker_);  // what the task that is being completed has released
    while (!done() && !(deadline && std::chrono::steady_clock::now() >= *deadline)) {
        if (!step()) pause();
    }
}

/// False when there was nothing to do.
bool Driver::step() {
    const bool completed = complete_reached();
    const bool enqueued = enqueue_ready();
    return completed || enqueued;
}

void Driver::pause() const {
    if (device_.emulated()) {
        std::this_thread::sleep_for(emulated_pause);
    } else {
        for (int i = 0; i < pauses_between_looks; ++i) cpu_relax();
    }
}

/// Until something is pushed; false when the runtime ends.
bool Driver::sleep() {
    engine_.announce_quiescence();
    const auto pushed = [this] { return queued_.load(std::memory_order_relaxed) > 0; };
    std::unique_lock guard(lock_);
    asleep_ = true;
    pushed_.wait(guard, [&] { return stop_ || pushed(); });
    asleep_ = false;
    return !stop_ || pushed();
}

/// Enqueues the best task of each stream that may go ahead; false when there is none.
bool Driver::enqueue_ready() {
    if (queued_.load(std::memory_order_acquire) == 0) return false;
    bool any = false;
    for (std::size_t role = 0; role < ready_.size(); ++role) {
        Task* task = take_ready(static_cast<StreamRole>(role));
        if (task == nullptr) continue;
        enqueue(*task);
        any = true;
    }
    return any;
}

Task* Driver::take_ready(StreamRole role) {
    if (ahead(role) >= most_ahead_ns || stream(role).size() >= most_in_flight) return nullptr;
    const std::lock_guard guard(lock_);
    Queue& queue = ready_[static_cast<std::size_t>(role)];
    if (queue.empty()) return nullptr;
    if (!computes(role) && queue.top().priority <= 0 && stream(role).size() >= most_patient_copies) return nullptr;
    Task* task = queue.top().task;
    queue.pop();
    queued_.fetch_sub(1, std::memory_order_relaxed);
    return task;
}

void Driver::enqueue(Task& task) {
    DeviceWork& work = *task.on_device();
    InFlight flight{&task, TraceRecorder::now(), computes(work.role) ? expected_time(task) : 0, {}};
    auto& [ends, spans] = flight.streams;
    const bool traced = engine_.trace().enabled() && !work.has_parts.load(std::memory_order_relaxed);
    Ticket begin = 0;
    try {
        work.waits.for_each([&](const StreamPoint& point) {
            device_.wait_for(work.role, engine_.device(point.device), point.role, point.ticket);
        });
        if (traced) begin = device_.record(work.role, true);
        // a task of a cancelled graph still holds its place in the order
        if (work.operation) {
            work.operation(*this, flight.streams);
        } else if (!task.scope->drained()) {
            device_.launch(work.role, [this, &task](Stream stream) { engine_.run_on_device(task, stream); });
        }
    } catch (...) {
        failed(task);
    }
    try {
        if (ends.empty()) {
            const Ticket end = device_.record(work.role, begin != 0);
            ends.push_back({device_.index(), work.role, end});
            if (begin != 0) spans.push_back({device_.index(), work.role, begin, end, work.bytes, {}});
        }
        work.publish(ends);
    } catch (...) {  // a lost device has no place in its streams
        failed(task);
        work.publish(ends_of_lost(work));
        flight.streams = {};
    }
    ahead(work.role) += flight.expected;
    ++in_flight_count_;
    stream(work.role).push_back(std::move(flight));
    engine_.release_enqueued(task);
}

/// On a device that is lost: nothing that was enqueued uses the task any more, and whoever is enqueued behind it is
/// enqueued behind what it had to wait for itself.
std::vector<StreamPoint> Driver::ends_of_lost(const DeviceWork& work) const {
    device_.synchronize();
    for (int d = 0; d < engine_.gpus() && work.has_parts.load(std::memory_order_relaxed); ++d) {
        engine_.device(d).synchronize();  // a broadcast runs on streams of several
    }
    std::vector<StreamPoint> ends;
    work.waits.for_each([&](const StreamPoint& point) {
        if (!engine_.device(point.device).lost()) ends.push_back(point);
    });
    if (ends.size() > DeviceWork::most_ends) ends.resize(DeviceWork::most_ends);
    return ends;
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

/// Whether the device has got to the task's ends, and the tasks in front of it have completed. What failed on the way
/// counts as this task's: it is the first one of its stream that has not completed.
bool Driver::arrived(InFlight& flight) {
    auto& [ends, spans] = flight.streams;
    while (!ends.empty()) {
        const StreamPoint end = ends.back();
        Device& where = engine_.device(end.device);
        try {
            if (!where.reached(end.role, end.ticket)) return false;
        } catch (...) {
            failed(*flight.task);
            if (!where.lost()) continue;  // reported; now for the point itself, or the next failure
            where.synchronize();          // it gets there no more; let it end what it has begun
            spans.clear();
        }
        ends.pop_back();
    }
    // acquire: pairs with release_successors()
    return flight.task->on_device()->unfinished.load(std::memory_order_acquire) == 0;
}

void Driver::complete(InFlight& flight) {
    Task& task = *flight.task;
    learn(flight);
    record_trace(flight);
    engine_.finish(task, worker_);
    engine_.hand_on(worker_);
}

void Driver::record_trace(const InFlight& flight) {
    for (const StreamSpan& span : flight.streams.spans) {
        Device& device = engine_.device(span.device);
        try {
            const std::int64_t begin_ns = device.time_of(span.role, span.begin);
            const std::int64_t end_ns = device.time_of(span.role, span.end);
            engine_.trace().record_device(*flight.task, span, begin_ns, std::max(begin_ns, end_ns));
        } catch (const DeviceError& error) {
            spdlog::debug("basalt: no time for a task of the trace: {}", error.what());
        }
    }
}

std::int64_t Driver::expected_time(const Task& task) const {
    const auto known = learnt_.find(task.name);
    return known != learnt_.end() ? known->second : assumed_ns;
}

/// How long tasks of this name take, from when the stream was free for it; a moving average.
void Driver::learn(const InFlight& flight) {
    const auto role = flight.task->on_device()->role;
    const std::int64_t now = TraceRecorder::now();
    std::int64_t& last = last_completion_[static_cast<std::size_t>(role)];
    ahead(role) -= flight.expected;
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

void Driver::broadcast(const BroadcastPlan& plan, Enqueued& streams) const {
    streams = enqueue_broadcast(plan, engine_.trace().enabled());
}

}  // namespace basalt::detail
