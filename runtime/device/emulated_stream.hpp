#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "runtime/device/device.hpp"

namespace basalt::detail {

/// How far a stream has got. Shared with the streams that wait for it, which may outlive it.
class Timeline {
  public:
    Ticket reached() const { return reached_.load(std::memory_order_acquire); }

    /// The stream got to `ticket`, which is not before the last one.
    void advance(Ticket ticket);
    /// Returns once the stream has got to `ticket`.
    void await(Ticket ticket);

  private:
    std::atomic<Ticket> reached_{0};
    std::mutex mutex_;
    std::condition_variable advanced_;
};

/// A thread that runs operations in the order in which they were enqueued, and sleeps when there is none.
/// Safe to use from several threads.
class EmulatedStream {
  public:
    /// Each operation is held up by a random time up to `longest_delay`. Work is left out while `lost` holds. Throws
    /// Error where the system allows no more threads; `name` is what the stream is called then.
    EmulatedStream(const std::string& name, std::chrono::nanoseconds longest_delay, std::uint64_t seed,
                   const std::atomic<bool>& lost);
    /// Runs what is enqueued.
    ~EmulatedStream();
    EmulatedStream(const EmulatedStream&) = delete;
    EmulatedStream& operator=(const EmulatedStream&) = delete;

    void enqueue(std::function<void()> work);
    /// What is done even where work is left out. Does not throw.
    void enqueue_always(std::function<void()> operation);
    /// What is enqueued from now on starts when `other` has reached `ticket`.
    void enqueue_wait(std::shared_ptr<Timeline> other, Ticket ticket);
    /// Called when work has thrown, before anything behind it begins, with the work in hand of the thread that enqueued
    /// it. Set before anything is enqueued.
    void on_failure(std::function<void(void* work)> noticed) { failure_noticed_ = std::move(noticed); }
    Ticket record(Timing timing);

    const std::shared_ptr<Timeline>& timeline() const { return timeline_; }
    Ticket recorded() const;
    /// The exception of the first operation in front of `ticket`, a reached one, that threw and was not taken
    /// yet.
    std::exception_ptr take_failure(Ticket ticket);
    /// Of a reached ticket; nothing where it was not timed or is too old.
    std::optional<std::int64_t> time_of(Ticket ticket) const;
    /// Returns when all that is enqueued has run.
    void drain();

  private:
    enum class Kind : std::uint8_t { work, always };
    struct Operation {
        Kind kind;
        std::function<void()> run;
        void* in_hand = WorkInHand::of_thread();
    };
    struct Failed {
        Ticket seen_by;  // the first ticket behind it
        std::exception_ptr error;
    };

    void push(std::unique_lock<std::mutex>& lock, Operation operation);
    void serve();
    void run(const Operation& operation);
    void hold_up();

    const std::chrono::nanoseconds longest_delay_;
    const std::atomic<bool>& lost_;
    std::function<void(void*)> failure_noticed_;  // published by the first operation
    std::mt19937_64 random_;                      // the thread's own
    const std::shared_ptr<Timeline> timeline_ = std::make_shared<Timeline>();
    std::array<std::int64_t, Device::remembered_tickets> times_{};  // 0: not timed; published by the timeline

    mutable std::mutex mutex_;
    std::condition_variable enqueued_;
    std::condition_variable drained_;
    std::deque<Operation> queue_;  // guarded by mutex_, like all below
    std::deque<Failed> failures_;
    Ticket recorded_ = 0;
    bool busy_ = false;
    bool closing_ = false;
    std::thread thread_;  // last: it uses all of the above
};

}  // namespace basalt::detail
