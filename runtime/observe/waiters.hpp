#pragma once

#include <chrono>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/graph/task.hpp"

namespace basalt::detail {

/// Who waits for tasks, and where: for the watchdog. Notes nothing unless it is on, and costs a branch then.
/// Thread-safe.
class Waiters {
  public:
    struct Waiter {
        std::string what;  ///< "wait()"
        long thread = 0;   ///< as the system calls it
        TaskRef task{};    ///< inside which it waits, if it does
        std::chrono::steady_clock::time_point since{};
    };

    enum class Noting : bool { off, on };
    explicit Waiters(Noting noting) : on_(noting == Noting::on) {}

    bool on() const { return on_; }
    std::vector<Waiter> all() const {
        const std::lock_guard guard(lock_);
        return {waiters_.begin(), waiters_.end()};
    }
    bool any() const {
        const std::lock_guard guard(lock_);
        return !waiters_.empty();
    }

    /// The calling thread waits as long as this lives. `what()` says where.
    class Note {
      public:
        template <class What>
        Note(Waiters& waiters, const Task* task, const What& what) : waiters_(waiters) {
            if (waiters.on_) [[unlikely]]
                add(task, what());
        }
        ~Note() {
            if (is_noted_) [[unlikely]]
                remove();
        }
        Note(const Note&) = delete;
        Note& operator=(const Note&) = delete;

      private:
        void add(const Task* task, std::string what);
        void remove();

        Waiters& waiters_;
        bool is_noted_ = false;
        std::list<Waiter>::iterator entry_;  ///< where it is noted
    };

  private:
    const bool on_;
    mutable std::mutex lock_;  // guards the list
    std::list<Waiter> waiters_;
};

}  // namespace basalt::detail
