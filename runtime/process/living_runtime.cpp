#include "runtime/process/living_runtime.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/graph/datum_pool.hpp"

namespace basalt::detail {

namespace {

// How long tasks that run may delay the end of the process.
constexpr auto exit_patience = std::chrono::seconds(1);

std::mutex runtimes_lock;  // guards the list

/// With those that were left behind. Never destroyed, since it is used during exit.
std::vector<LivingRuntime*>& runtimes() {
    static auto* const list = new std::vector<LivingRuntime*>;
    return *list;
}

}  // namespace

/// What the process does to its runtimes.
class LivingRuntimes {
  public:
    static void watch_process() { [[maybe_unused]] static const bool once = begin_to_watch(); }
    static void add(LivingRuntime& runtime) {
        watch_process();
        const std::lock_guard guard(runtimes_lock);
        runtimes().push_back(&runtime);
    }
    static void remove(LivingRuntime& runtime) {
        const std::lock_guard guard(runtimes_lock);
        std::erase(runtimes(), &runtime);
    }

    static void leave_at_exit() {
        const std::lock_guard guard(runtimes_lock);
        const std::vector<LivingRuntime*>& all = runtimes();
        if (std::none_of(all.begin(), all.end(), [](const auto* runtime) { return is_busy(*runtime); })) return;
        std::fputs("basalt: the process exits while tasks are in flight; those that have not begun do not run\n",
                   stderr);
        leave_all(Left::by_exit);
        const auto end = std::chrono::steady_clock::now() + exit_patience;
        const auto none_runs = [&] {
            return std::all_of(all.begin(), all.end(),
                               [](const auto* runtime) { return runtime->progress_.running_elsewhere() == 0; });
        };
        do {  // also before the first look: a task may just be about to begin
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        } while (!none_runs() && std::chrono::steady_clock::now() < end);
    }

  private:
    /// A child process calls what was registered first first: the locks are free when it leaves the runtimes.
    static bool begin_to_watch() {
        runtimes();
        set_exit_action(leave_at_exit);
        DatumPool::of_process();
        hold_during_fork<runtimes_lock>();
        return pthread_atfork(nullptr, nullptr, leave_in_child) == 0;
    }
    static bool is_busy(const LivingRuntime& runtime) {
        return runtime.mark_.is_current() && !runtime.progress_.users_idle();
    }
    static void leave_all(Left why) {
        ProcessMark::leave_all(why);
        DatumPool::of_process().leave_all();
        for (LivingRuntime* runtime : runtimes()) runtime->observers_.leave();
    }
    /// By the only thread of a child process.
    static void leave_in_child() { leave_all(Left::by_fork); }
};

namespace {

/// When the library is loaded, since the first runtime may be made while another thread forks.
[[maybe_unused]] const bool watches_process = (LivingRuntimes::watch_process(), true);

}  // namespace

LivingRuntime::LivingRuntime(Observers& observers, Progress& progress) : observers_(observers), progress_(progress) {
    LivingRuntimes::add(*this);
}

LivingRuntime::~LivingRuntime() { LivingRuntimes::remove(*this); }

}  // namespace basalt::detail
