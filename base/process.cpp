#include "base/process.hpp"

#include <cstdlib>
#include <thread>

#include <unistd.h>

#include "basalt/error.hpp"

namespace basalt::detail {

namespace {

// written before the marks change
Left last_reason = Left::by_fork;
std::thread::id exiting_thread;

std::atomic<void (*)()> exit_action{nullptr};

}  // namespace

void ProcessMark::leave_all(Left why) {
    last_reason = why;
    exiting_thread = std::this_thread::get_id();
    // release, with the acquire in left_by(): who finds its mark old sees why
    current_.fetch_add(1, std::memory_order_release);
}

Left ProcessMark::left_by() {
    static_cast<void>(current_.load(std::memory_order_acquire));  // see leave_all()
    return last_reason;
}

void ProcessMark::refuse_left(const std::string& text) {
    if (left_by() == Left::by_fork) {
        throw UsageError(text +
                         ": it was made before fork(), and this is the child process; make another Runtime here");
    }
    if (std::this_thread::get_id() != exiting_thread) stay_until_exit();
    throw UsageError(text + ": the process is exiting while tasks run");
}

void ProcessMark::refuse(const char* what) { refuse_left(std::string(what) + " cannot be used"); }

void set_exit_action(void (*action)()) { exit_action.store(action, std::memory_order_release); }

void look_before_exit() {
    std::atexit([] {
        if (auto* const action = exit_action.load(std::memory_order_acquire)) action();
    });
}

void stay_until_exit() {
    while (true) pause();
}

}  // namespace basalt::detail
