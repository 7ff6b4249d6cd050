#include "runtime/drivers/driver.hpp"

#include <algorithm>
#include <chrono>
#include <exception>

#include <spdlog/spdlog.h>

#include "base/spin_lock.hpp"
#include "base/start_thread.hpp"
#include "base/topology.hpp"
#include "runtime/drivers/scratch_of_task.hpp"
#include "runtime/execution/task_errors.hpp"

namespace basalt::detail {

namespace {

// How long a task with a new name is expected to take: of those only a few are enqueued ahead, see StreamPool.
constexpr std::int64_t assumed_ns = 125'000'000;

// Copies without priority are enqueued a few at a time, so that an urgent copy finds few in front of it.
constexpr std::size_t most_patient_copies = 4;

// Between two looks at the device. A GPU has a core for its driver; an emulated one shares the cores with its own
// kernels.
constexpr auto emulated_pause = std::chrono::microseconds(50);
constexpr int pauses_between_looks = 20;

thread_local Driver* driver_of_thread = nullptr;

}  // namespace

Driver::Driver(const Parts& parts, Device& device, int place)
    : p_(parts), device_(device), worker_(place, 0, Worker::Post::driver), pool_(device, parts.streams) {}

Driver::~Driver() { stop(); }

void Driver::start() {
    thread_ = start_thread("the thread that feeds " + device_.name(), [this] { main(); });
}

void Driver::stop() {
    {
        const std::lock_guard guard(lock_);
        stop_ = true;
    }
    pushed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void Driver::push(Task& task) {
    const DeviceWork& work = *task.on_device();
    const auto role = static_cast<std::size_t>(work.role);
    const std::lock_guard guard(lock_);
    (work.any_stream ? in_any_[role] : ready_[role]).push({task.priority, arrivals_++, &task});
    // release: pairs with the driver's look at it
    queued_.fetch_add(1, std::memory_order_release);
    if (asleep_) pushed_.notify_one();
}

Driver* Driver::current(const TaskGraph& graph) {
    return driver_of_thread != nullptr && &driver_of_thread->p_.graph == &graph ? driver_of_thread : nullptr;
}

void Driver::main() {
    driver_of_thread = this;
    // Polls: on a core that no worker is bound to, if there is one left.
    const bool core_left = worker_.place < usable_cores();
    if (core_left && !device_.emulated() && p_.bind) bind_this_thread(worker_.place);
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

void Driver::serve_until(const std::function<bool()>& done) {
    p_.completion.hand_on(worker_);  // what the task that is being completed has released
    while (!done()) {
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
    p_.progress.announce_quiescence();
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
    const std::lock_guard guard(lock_);
    Queue& queue = ready_[static_cast<std::size_t>(role)];
    if (queue.empty() || !may_be_next(*queue.top().task, role)) return nullptr;
    Task* task = queue.top().task;
    queue.pop();
    queued_.fetch_sub(1, std::memory_order_relaxed);
    return task;
}

bool Driver::may_be_next(const Task& task, StreamRole role) const {
    if (task.on_device()->any_stream) return pool_.has_room_in_pool(role);
    if (!computes(role) && task.priority <= 0 && stream(role).size() >= most_patient_copies) return false;
    return pool_.has_room(role);
}

/// Enqueues the best task whose stream is not given. If it belongs behind another one, on a stream without room, it
/// waits for that stream, and does not hold up the others.
bool Driver::enqueue_in_pool(StreamRole first) {
    Queue& queue = in_any_[static_cast<std::size_t>(first)];
    Ready best{};
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

void Driver::enqueue(Task& task) {
    DeviceWork& work = *task.on_device();
    const WorkInHand in_hand(&task);
    InFlight flight{&task, TraceRecorder::now(), computes(work.role) ? expected_time(task) : 0, 0, {}};
    const Begun begun = enqueue_work(task, flight.streams);
    flight.end = mark_end(task, flight.streams, begun);
    pool_.enqueued(work.role, flight.end, flight.expected);
    ++in_flight_count_;
    stream(work.role).push_back(std::move(flight));
    p_.completion.enqueued(task);
}

Driver::Begun Driver::enqueue_work(Task& task, Enqueued& streams) {
    const DeviceWork& work = *task.on_device();
    const bool traced = p_.trace.enabled();
    Begun begun;
    try {
        work.waits.for_each([&](const StreamPoint& point) {
            device_.wait_for(work.role, device_at(point.device), point.role, point.ticket);
        });
        if (traced && !work.has_parts.load(std::memory_order_relaxed))
            begun.begin = device_.record(work.role, Timing::timed);
        // a task that must not run still keeps its place in the order
        if (!p_.kernels.may_run(task)) return begun;
        begun.launched = !device_.lost();
        if (work.operation) {
            work.operation({device_, traced ? Spans::wanted : Spans::unwanted, streams});
        } else {
            device_.launch(work.role,
                           [this, &task, role = work.role](Stream stream) { run_kernel(task, role, stream); });
        }
    } catch (...) {
        fail_in_hand(task, begun);
    }
    return begun;
}

/// On the thread of the stream where that is emulated.
void Driver::run_kernel(Task& task, StreamRole role, Stream stream) {
    ScratchOfTask scratch(p_.memory, device_.index(), role, task.ref());
    StreamContext context = *stream.context();
    context.scratch = &scratch;
    p_.kernels.run_on_device(task, Stream(&context));
}

/// Tells where the task ends: for its successors, and for this driver. Returns where it ends on its own stream, 0 where
/// that is not known.
Ticket Driver::mark_end(Task& task, Enqueued& streams, const Begun& begun) {
    const Ticket begin = begun.begin;
    DeviceWork& work = *task.on_device();
    Ticket end = 0;
    try {
        if (streams.ends.empty()) {
            end = device_.record(work.role, begin != 0 ? Timing::timed : Timing::untimed);
            streams.ends.push_back({device_.index(), work.role, end});
            if (begin != 0) streams.spans.push_back({device_.index(), work.role, begin, end, work.bytes});
        }
        work.publish(streams.ends);
    } catch (...) {  // a lost device has no place in its streams
        fail_in_hand(task, begun);
        work.publish(ends_of_lost(work));
        streams = {};
        end = 0;
    }
    return end;
}

/// On a device that is lost: nothing that was enqueued uses the task any more. A successor is enqueued behind the
/// points that the task itself had to wait for.
std::vector<StreamPoint> Driver::ends_of_lost(const DeviceWork& work) const {
    device_.synchronize();
    if (work.has_parts.load(std::memory_order_relaxed)) {
        for (const auto& device : p_.devices) device->synchronize();  // a broadcast runs on streams of several
    }
    std::vector<StreamPoint> ends;
    work.waits.for_each([&](const StreamPoint& point) {
        if (!device_at(point.device).lost()) ends.push_back(point);
    });
    if (ends.size() <= DeviceWork::most_ends) return ends;
    // more than there is room for: what they stand for ends now
    for (const StreamPoint& point : ends) device_at(point.device).synchronize();
    return {};
}

void Driver::watch_device() {
    device_.on_failure([this](void* work) {
        if (work != nullptr) failed(*static_cast<Task*>(work));
    });
}

void Driver::failed(Task& task) {
    fail_task(p_.graph.unwritten(), task, device_.name());
    // afterwards: what lacks its contents for this reason is a consequence, and its graph keeps the error that came
    // first
    const DeviceWork& work = *task.on_device();
    if (work.failed) work.failed();
}

/// Whether it waits for a kernel of this device that is not known to have completed.
bool Driver::waits_for_kernel(const DeviceWork& work) const {
    bool waits = false;
    work.waits.for_each([&](const StreamPoint& point) {
        if (point.device != device_.index() || !computes(point.role) || point.role == work.role) return;
        const std::deque<InFlight>& flights = stream(point.role);
        waits = waits || (!flights.empty() && flights.front().end <= point.ticket);
    });
    return waits;
}

/// A call for the task in hand threw what is being handled.
void Driver::fail_in_hand(Task& task, const Begun& begun) {
    const DeviceWork& work = *task.on_device();
    const bool began = begun.launched && stream(work.role).empty() && !waits_for_kernel(work);
    if (!blame_suspects(began ? std::optional(Suspect{&task, work.role}) : std::nullopt)) return failed(task);
    if (began && computes(work.role)) return;  // one of the suspects
    try {
        throw DeviceError(device_.name() + ": lost before the task ran", device_.index(), DeviceFault::device_lost);
    } catch (const DeviceError&) {
        failed(task);
    }
}

/// The exception that is being handled may be the first that tells of a fault, in a call that has nothing to do with
/// it. Then those tasks fail that may have faulted, so that errors name them, and the result is true. `in_hand`: a task
/// that is not in flight yet and has begun.
bool Driver::blame_suspects(const std::optional<Suspect>& in_hand) {
    if (blamed_ || !device_.lost_silently()) return false;
    std::vector<Suspect> suspects;
    for (const StreamRole role : pool_.streams()) {
        const std::deque<InFlight>& flights = stream(role);
        if (flights.empty() || waits_for_kernel(*flights.front().task->on_device())) continue;
        suspects.push_back({flights.front().task, role});
    }
    if (in_hand) suspects.push_back(*in_hand);
    suspects = most_likely(std::move(suspects));
    if (suspects.empty()) return false;
    blamed_ = true;
    const std::string why = message_of(std::current_exception());
    for (std::size_t i = 0; i < suspects.size(); ++i) {
        try {
            throw DeviceError(fault_text(suspects, i, why), device_.index(), DeviceFault::device_lost);
        } catch (const DeviceError&) {
            failed(*suspects[i].task);
        }
    }
    return true;
}

bool Driver::complete_reached() {
    bool any = false;
    // by number: completing a task may let others go ahead, on streams that are made for them
    for (std::size_t i = 0; i < pool_.streams().size(); ++i) {
        std::deque<InFlight>& flights = stream(pool_.streams()[i]);
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
        Device& where = device_at(end.device);
        try {
            if (!where.reached(end.role, end.ticket)) return false;
        } catch (...) {
            if (&where == &device_ && blame_suspects({})) continue;  // now for what the loss means for this one
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
    p_.completion.finish(task, worker_);
    p_.completion.hand_on(worker_);
}

void Driver::record_trace(const InFlight& flight) {
    for (const StreamSpan& span : flight.streams.spans) {
        Device& device = device_at(span.device);
        try {
            const std::int64_t begin_ns = device.time_of(span.role, span.begin);
            const std::int64_t end_ns = device.time_of(span.role, span.end);
            p_.trace.record_device(*flight.task, span, begin_ns, std::max(begin_ns, end_ns));
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
    pool_.completed(role, flight.expected);
    if (computes(role)) {
        const std::int64_t took = now - std::max(last, flight.enqueued);
        std::int64_t& average = learnt_[flight.task->name];
        average = average == 0 ? took : (3 * average + took) / 4;
    }
    last = now;
}

}  // namespace basalt::detail
