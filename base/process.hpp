#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <pthread.h>

namespace basalt::detail {

/// What has made the objects that the process's runtimes share unusable.
enum class Left : std::uint8_t {
    by_fork,  ///< this is a child process: the threads of the runtimes that it inherited do not exist here
    by_exit,  ///< the process is exiting while tasks run: their runtimes are left as they are
};

/// Tells whether an object was made in this process and is still in use: objects made before a fork or before an exit
/// are left behind. What waits for tasks, or takes a lock that another thread may have held then, asks first.
class ProcessMark {
  public:
    bool is_current() const { return made_in_ == current_.load(std::memory_order_relaxed); }
    /// As refuse_left() unless the mark is current. `what` cannot be used: "the Runtime".
    void require_current(const char* what) const {
        if (!is_current()) [[unlikely]]
            refuse(what);
    }

    /// Throws UsageError with that text and the reason why objects were left behind: for one that is used. While the
    /// process exits, threads other than the one that exits it do not return.
    [[noreturn]] static void refuse_left(const std::string& text);

    /// Leaves everything behind that has been made so far. By the only thread of a child process, or by the one that
    /// calls exit().
    static void leave_all(Left why);
    /// Why objects were left behind last.
    static Left left_by();

  private:
    [[noreturn]] static void refuse(const char* what);

    // Relaxed: changed where no other thread exists, or where the others may as well come a moment earlier.
    static inline constinit std::atomic<std::uint32_t> current_{0};
    std::uint32_t made_in_ = current_.load(std::memory_order_relaxed);
};

/// Keeps the calling thread from ever going on: of a process that is about to end.
[[noreturn]] void stay_until_exit();

/// The process calls `action` when it exits, as often and as early as look_before_exit() says.
void set_exit_action(void (*action)());
/// Has that action done before the process destroys the static objects that are complete by now. To be called once for
/// each runtime, by its first task: then a static Runtime is complete.
void look_before_exit();

/// Keeps an object that was left behind and may still be in use.
template <class T>
void keep_for_ever(T object) {
    static auto* const lock = new std::mutex;
    static auto* const kept = new std::vector<T>;
    const std::lock_guard guard(*lock);
    kept->push_back(std::move(object));
}

/// From now on a thread that forks holds the lock meanwhile, so that the child process finds what it guards whole and
/// the lock free. To be called once for each lock, before its first use or by its holder, while no other thread forks:
/// that one would not hold the lock.
template <auto& lock>
void hold_during_fork() {
    pthread_atfork([] { lock.lock(); }, [] { lock.unlock(); }, [] { lock.unlock(); });
}
/// Does so when the library is loaded: an object next to the lock.
template <auto& lock>
struct HeldDuringForks {
    HeldDuringForks() { hold_during_fork<lock>(); }
};

}  // namespace basalt::detail
