#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/core_claims.hpp"
#include "runtime/drivers/ready_queue.hpp"
#include "runtime/drivers/stream_pool.hpp"
#include "runtime/drivers/suspects.hpp"
#include "runtime/execution/completion.hpp"
#include "runtime/execution/dispatch.hpp"
#include "runtime/execution/kernel_runs.hpp"
#include "runtime/execution/parking.hpp"
#include "runtime/graph/task_graph.hpp"
#include "runtime/memory/device_memory.hpp"
#include "runtime/observe/observers.hpp"
#include "runtime/workers/progress.hpp"

namespace basalt::detail {

using Devices = std::vector<std::unique_ptr<Device>>;

/// The thread that feeds a device: takes tasks whose predecessors are enqueued, makes the streams wait for what they
/// depend on, enqueues them, and completes them when the device has got there. The device is never waited for.
///
/// push() may be called by any thread; everything else happens on the driver's own thread.
class Driver final : public DeviceQueue {
  public:
    /// What drivers work with.
    struct Parts {
        TaskGraph& graph;
        const Devices& devices;
        KernelRuns& kernels;
        Completion& completion;
        Progress& progress;
        Observers& observers;
        DeviceMemory& memory;
        PlacedTasks* placed;      ///< nullptr where no policy observes tasks
        const CoreClaims& cores;  ///< of the workers, and perhaps of the drivers
        int streams;              ///< Config::gpu_streams
    };
    /// `place`: one that no worker has.
    Driver(const Parts& parts, Device& device, int place);
    ~Driver();
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    /// Has the device tell of failures as soon as it meets them. To be called once, before start().
    void watch_device();
    /// Starts the thread. To be called once, before the first push() and when the runtime is complete. Throws Error.
    void start();

    /// The task's predecessors are enqueued or have completed: it may be enqueued behind them.
    void push(Task& task) override;

    /// The driver whose thread is calling, if it is one of the graph's runtime; otherwise nullptr.
    static Driver* current(const TaskGraph& graph);
    /// Goes on feeding the device until done() holds: for what a driver's thread itself has to wait for,
    /// as in the destructor of something that a kernel captured.
    void serve_until(const std::function<bool()>& done);

    /// For messages: the first task of each of its streams, and when it was enqueued. By any thread.
    struct StreamHead {
        std::string stream;
        TaskRef task;
        std::int64_t since;  ///< nanoseconds of the steady clock
    };
    std::vector<StreamHead> stream_heads() const;
    /// Tasks that it has not enqueued yet. By any thread.
    std::size_t queued() const { return queued_.load(std::memory_order_relaxed); }
    const std::string& device_name() const { return device_.name(); }

    /// Counts the tasks that it completed.
    const Worker& worker() const { return worker_; }

    /// Nothing is in flight: ends the thread.
    void stop();

  private:
    struct InFlight {
        Task* task;
        std::int64_t enqueued;  ///< when
        std::int64_t expected;  ///< nanoseconds that it is expected to take
        Ticket end = 0;         ///< on its own stream, 0 where that is not known
        bool launched = false;  ///< see Begun
        Enqueued streams{};     ///< of its ends those that are not known to be reached
        bool observed = false;  ///< its observers were told that it began
    };

    void run();
    bool step();
    void pause() const;
    bool enqueue_ready();
    bool enqueue_round();
    Task* take_ready(StreamRole role);
    bool may_be_next(const Task& task, StreamRole role) const;
    bool may_take_patient_copy(StreamRole role) const;
    Task* take_waiting(StreamRole role);
    bool has_completed(const StreamPoint& point) const;
    bool enqueue_in_pool(StreamRole first);
    void enqueue(Task& task);
    /// What came of enqueueing a task's work.
    struct Begun {
        Ticket begin = 0;       ///< where it begins on its stream, if that is traced
        bool launched = false;  ///< its kernel was called, or its copy enqueued
        bool observed = false;  ///< see InFlight
    };
    Begun enqueue_work(Task& task, Enqueued& streams);
    Ticket mark_end(Task& task, Enqueued& streams, const Begun& begun);
    std::vector<StreamPoint> ends_of_lost(const DeviceWork& work) const;
    void run_kernel(Task& task, StreamRole role, Stream stream);
    void failed(Task& task);
    void fail_in_hand(Task& task, const Begun& begun);
    bool waits_for_kernel(const DeviceWork& work) const;
    bool blame_suspects(const std::optional<Suspect>& in_hand);
    bool sleep();
    bool complete_reached();
    bool arrived(InFlight& flight);
    void complete(InFlight& flight);
    std::int64_t record_spans(const InFlight& flight);
    void tell_observers(const InFlight& flight);
    std::int64_t expected_time(const Task& task) const;
    void learn(const InFlight& flight);
    void publish_head(StreamRole role);
    std::deque<InFlight>& stream(StreamRole role) { return in_flight_[static_cast<std::size_t>(role)]; }
    const std::deque<InFlight>& stream(StreamRole role) const { return in_flight_[static_cast<std::size_t>(role)]; }

    Device& device_at(int number) const { return *p_.devices[static_cast<std::size_t>(number)]; }
    const Parts p_;
    Device& device_;
    Worker worker_;

    std::mutex lock_;  // guards the queues, whether the thread sleeps and whether it is to end
    std::array<ReadyQueue, stream_roles> ready_;   ///< one a stream: a long queue of kernels does not hold up copies
    std::array<ReadyQueue, stream_pools> in_any_;  ///< those whose stream has not been chosen
    std::uint64_t arrivals_ = 0;
    std::condition_variable pushed_;
    std::atomic<std::size_t> queued_{0};
    bool asleep_ = false;
    bool stop_ = false;

    // the driver's own
    std::array<std::deque<InFlight>, stream_roles> in_flight_;
    std::array<WaitingCopies, named_streams> waiting_;  ///< of the streams between device and host
    struct Head {
        std::atomic<std::uint64_t> task{packed(TaskRef{})};
        std::atomic<std::int64_t> since{0};
    };
    std::array<Head, stream_roles> heads_;  ///< of in_flight_, for messages: relaxed
    std::size_t in_flight_count_ = 0;
    bool blamed_ = false;  ///< the device is lost, and those that may have done it have failed
    StreamPool pool_;
    std::map<const char*, std::int64_t> learnt_;
    std::array<std::int64_t, stream_roles> last_completion_{};
    std::thread thread_;
};

}  // namespace basalt::detail
