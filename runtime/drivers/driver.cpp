#include "runtime/drivers/driver.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>

#include <spdlog/spdlog.h>

#include "base/process.hpp"
#include "base/spin_lock.hpp"
#include "base/start_thread.hpp"
#include "runtime/drivers/scratch_of_task.hpp"
#include "runtime/execution/task_errors.hpp"

namespace basalt::detail {

namespace {

// How long a task with a new name is expected to take: of those only a few are enqueued ahead, see StreamPool.
constexpr std::int64_t assumed_ns = 125'000'000;

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
    thread_ = start_thread("the thread that feeds " + device_.name(), [this] { run(); });
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

void Driver::run() {
    driver_of_thread = this;
    // Polls: on a core that no worker is bound to, if there is one left.
    const bool core_left = static_cast<std::size_t>(worker_.place) < p_.cores.cores().size();
    if (core_left) p_.cores.bind_this_thread(worker_.place);
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
    if (p_.observers.left()) stay_until_exit();
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

void Driver::enqueue(Task& task) {
    DeviceWork& work = *task.on_device();
    const WorkInHand in_hand(&task);
    InFlight flight{
        .task = &task, .enqueued = TraceRecorder::now(), .expected = computes(work.role) ? expected_time(task) : 0};
    const Begun begun = enqueue_work(task, flight.streams);
    flight.launched = begun.launched;
    flight.end = mark_end(task, flight.streams, begun);
    flight.observed = begun.observed;
    pool_.enqueued(work.role, flight.end, flight.expected);
    ++in_flight_count_;
    stream(work.role).push_back(std::move(flight));
    publish_head(work.role);
    p_.completion.enqueued(task);
}

Driver::Begun Driver::enqueue_work(Task& task, Enqueued& streams) {
    const DeviceWork& work = *task.on_device();
    const bool timed = p_.observers.times_devices() || (p_.placed != nullptr && p_.placed->observes(task));
    Begun begun;
    try {
        work.waits.for_each([&](const StreamPoint& point) {
            device_.wait_for(work.role, device_at(point.device), point.role, point.ticket);
        });
        if (timed && !work.has_parts.load(std::memory_order_relaxed))
            begun.begin = device_.record(work.role, Timing::timed);
        p_.graph.unwritten().overwriting(task);
        // a task that must not run still keeps its place in the order
        if (!p_.kernels.may_run(task)) return begun;
        if (p_.observers.any() && task.kind == TaskKind::user) {
            p_.observers.device_started(task, device_.index());
            begun.observed = true;
        }
        begun.launched = !device_.lost();
        if (work.operation) {
            work.operation({device_, timed ? Spans::wanted : Spans::unwanted, streams});
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

bool Driver::complete_reached() {
    bool any = false;
    // by number: completing a task may let others go ahead, on streams that are made for them
    for (std::size_t i = 0; i < pool_.streams().size(); ++i) {
        std::deque<InFlight>& flights = stream(pool_.streams()[i]);
        while (!flights.empty() && arrived(flights.front())) {
            InFlight flight = std::move(flights.front());
            flights.pop_front();
            publish_head(pool_.streams()[i]);
            --in_flight_count_;
            // before complete(), in which the thread may go on feeding the device
            for (WaitingCopies& copies : waiting_) copies.look_again();
            complete(flight);
            any = true;
        }
    }
    return any;
}

/// Tells threads that do not own the streams which task is first in one of them, and that something happened there.
void Driver::publish_head(StreamRole role) {
    const std::deque<InFlight>& flights = stream(role);
    Head& head = heads_[static_cast<std::size_t>(role)];
    const bool empty = flights.empty();
    head.since.store(empty ? 0 : flights.front().enqueued, std::memory_order_relaxed);
    head.task.store(packed(empty ? TaskRef{} : flights.front().task->ref()), std::memory_order_relaxed);
    worker_.kernels.store(worker_.kernels.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

std::vector<Driver::StreamHead> Driver::stream_heads() const {
    std::vector<StreamHead> found;
    for (std::size_t i = 0; i < heads_.size(); ++i) {
        const TaskRef task = unpacked(heads_[i].task.load(std::memory_order_relaxed));
        if (!task.valid()) continue;
        found.push_back({name_of(static_cast<StreamRole>(i)), task, heads_[i].since.load(std::memory_order_relaxed)});
    }
    return found;
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
    tell_observers(flight);
    p_.graph.unwritten().overwritten(task);
    p_.completion.finish(task, worker_);
    p_.completion.hand_on(worker_);
}

void Driver::tell_observers(const InFlight& flight) {
    const std::int64_t took = record_spans(flight);
    if (!flight.observed) return;
    Task& task = *flight.task;
    try {
        const bool has_failed = p_.graph.unwritten().any() && p_.graph.unwritten().failure_of(task) != nullptr;
        p_.observers.device_ended(task, device_.index(), took, has_failed ? TaskEnd::failed : TaskEnd::succeeded);
    } catch (...) {  // out of a hook
        failed(task);
    }
}

/// Records the spans in the trace. Returns how long the device was busy with the task; where it did not tell, how long
/// the task was there.
std::int64_t Driver::record_spans(const InFlight& flight) {
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t last = 0;
    for (const StreamSpan& span : flight.streams.spans) {
        Device& device = device_at(span.device);
        try {
            const std::int64_t begin_ns = device.time_of(span.role, span.begin);
            const std::int64_t end_ns = device.time_of(span.role, span.end);
            if (p_.observers.trace().enabled()) {
                p_.observers.trace().record_device(*flight.task, span, begin_ns, std::max(begin_ns, end_ns));
            }
            if (p_.placed != nullptr && flight.launched) p_.placed->ran(*flight.task, end_ns - begin_ns);
            first = std::min(first, begin_ns);
            last = std::max(last, end_ns);
        } catch (const DeviceError& error) {
            spdlog::debug("basalt: no time for a task on a device: {}", error.what());
        }
    }
    return first < last ? last - first : TraceRecorder::now() - flight.enqueued;
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
