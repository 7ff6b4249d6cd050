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
#include <queue>
#include <thread>
#include <vector>

#include "runtime/device/device_work.hpp"
#include "runtime/task.hpp"
#include "runtime/worker.hpp"

namespace basalt::detail {

class Engine;
struct BroadcastPlan;

/// The thread that feeds a device: takes tasks whose predecessors are enqueued, makes the streams wait for what they
/// depend on, enqueues them, and completes them when the device has got there. The device is never waited for.
///
/// push() may be called by any thread; everything else happens on the driver's own thread.
class Driver {
  public:
    Driver(Engine& engine, Device& device, int place);
    ~Driver();
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    /// The task's predecessors are enqueued or have completed: it may be enqueued behind them.
    void push(Task& task);

    /// The driver whose thread is calling, if it belongs to the engine; otherwise nullptr.
    static Driver* current(const Engine& engine);
    /// Goes on feeding the device until done() holds or time is up: for what a driver's thread itself has to wait for,
    /// as in the destructor of something that a kernel captured.
    void serve_until(const std::function<bool()>& done, std::optional<std::chrono::steady_clock::time_point> deadline);

    Device& device() const { return device_; }
    const Worker& worker() const { return worker_; }

    /// For operations of the runtime's own: enqueue on this device's streams.
    void copy(StreamRole role, Device* peer, const Copy& copy) const;
    void broadcast(const BroadcastPlan& plan, Enqueued& streams) const;

    void stop();

  private:
    struct Ready {
        int priority;
        std::uint64_t number;  ///< of arrival: first come, first served among equals
        Task* task;
        bool operator<(const Ready& other) const {
            return priority != other.priority ? priority < other.priority : number > other.number;
        }
    };
    using Queue = std::priority_queue<Ready>;
    struct InFlight {
        Task* task;
        std::int64_t enqueued;  ///< when
        std::int64_t expected;  ///< nanoseconds that it is expected to take
        Enqueued streams;       ///< of its ends those that are not known to be reached
    };

    void main();
    bool step();
    void pause() const;
    bool enqueue_ready();
    Task* take_ready(StreamRole role);
    void enqueue(Task& task);
    std::vector<StreamPoint> ends_of_lost(const DeviceWork& work) const;
    void failed(Task& task);
    bool sleep();
    bool complete_reached();
    bool arrived(InFlight& flight);
    void complete(InFlight& flight);
    void record_trace(const InFlight& flight);
    std::int64_t expected_time(const Task& task) const;
    void learn(const InFlight& flight);
    std::deque<InFlight>& stream(StreamRole role) { return in_flight_[static_cast<std::size_t>(role)]; }
    std::int64_t& ahead(StreamRole role) { return ahead_ns_[static_cast<std::size_t>(role)]; }

    Engine& engine_;
    Device& device_;
    Worker worker_;

    std::mutex lock_;                        // guards the queues, whether the thread sleeps and whether it is to end
    std::array<Queue, stream_roles> ready_;  ///< one a stream: a long queue of kernels does not hold up copies
    std::uint64_t arrivals_ = 0;
    std::condition_variable pushed_;
    std::atomic<std::size_t> queued_{0};
    bool asleep_ = false;
    bool stop_ = false;

    // the driver's own
    std::array<std::deque<InFlight>, stream_roles> in_flight_;
    std::size_t in_flight_count_ = 0;
    /// Time of what is enqueued and not completed, as far as is known.
    std::array<std::int64_t, stream_roles> ahead_ns_{};
    std::map<const char*, std::int64_t> learnt_;
    std::array<std::int64_t, stream_roles> last_completion_{};
    std::thread thread_;  ///< started by the first push(): the engine is complete by then
};

}  // namespace basalt::detail
