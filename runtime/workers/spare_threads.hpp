#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/execution/completion.hpp"
#include "runtime/workers/progress.hpp"
#include "runtime/workers/work_loop.hpp"

namespace basalt::detail {

/// Threads that run tasks instead of those that wait with a limit inside a task, since these must not begin what may
/// last beyond it.
///
/// As many of them work as threads wait in this way, so the number of threads that run tasks stays that of the workers.
/// When a thread stops waiting, one of them ends its task and rests. They are started when they are first needed,
/// and share one place of the schedulers. A spare thread that waits with a limit itself has another one stand in.
class SpareThreads {
  public:
    static constexpr int most = 64;

    /// What the threads work with.
    struct Parts {
        TaskGraph& graph;
        WorkLoop& loop;
        ParkingLot& parking;
        Completion& completion;
        Progress& progress;
        int place;  ///< that they share
    };
    explicit SpareThreads(const Parts& parts) : p_(parts) {}
    ~SpareThreads() { stop(); }
    SpareThreads(const SpareThreads&) = delete;
    SpareThreads& operator=(const SpareThreads&) = delete;

    /// The calling thread, inside a task, waits until done() holds or the deadline has come, and another one works
    /// instead. False without waiting where there can be no other one. `scope`: whose end wakes the caller.
    bool stand_in(const Scope& scope, const std::function<bool()>& done,
                  std::chrono::steady_clock::time_point deadline);

    /// Ends the threads. Nothing is in flight.
    void stop();

  private:
    struct Spare {
        Spare(int place, int number) : worker(place, 0, Worker::Post::spare, number) {}
        Worker worker;
        std::thread thread;
    };
    bool begin_wait();
    void end_wait();
    void run(Spare& spare);
    bool may_rest();

    const Parts p_;
    std::mutex lock_;  // guards what follows
    std::condition_variable called_;
    std::array<std::unique_ptr<Spare>, most> spares_;
    std::size_t started_ = 0;
    int waiting_ = 0;  ///< threads that others stand in for
    int working_ = 0;  ///< spare threads that work, or are called to
    int calls_ = 0;    ///< that no thread has answered yet
    bool stop_ = false;
};

}  // namespace basalt::detail
