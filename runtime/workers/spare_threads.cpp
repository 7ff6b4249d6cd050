#include "runtime/workers/spare_threads.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include <spdlog/spdlog.h>

#include "basalt/error.hpp"
#include "base/start_thread.hpp"

namespace basalt::detail {

namespace {

// The end of the last child wakes the thread that waits; this covers what happens without a task's end.
constexpr auto longest_look_away = std::chrono::milliseconds(2);

}  // namespace

bool SpareThreads::stand_in(const Scope& scope, const std::function<bool()>& done,
                            std::chrono::steady_clock::time_point deadline) {
    if (done() || std::chrono::steady_clock::now() >= deadline) return true;
    p_.completion.hand_on(*ThreadContext::worker_of(p_.graph));
    if (!begin_wait()) return false;
    ParkingLot::Sleeper sleeper;
    sleeper.min_level = std::numeric_limits<int>::max();  // no task is for this thread
    sleeper.scope = &scope;
    sleeper.outside_gangs = false;
    while (true) {
        p_.parking.announce(sleeper);
        const auto now = std::chrono::steady_clock::now();
        if (done() || now >= deadline) break;
        p_.parking.sleep(sleeper, std::min(deadline, now + longest_look_away));
    }
    p_.parking.leave(sleeper);
    end_wait();
    return true;
}

/// Calls a thread unless enough of them work. False where there is none to be had.
bool SpareThreads::begin_wait() {
    const std::lock_guard guard(lock_);
    if (working_ > waiting_) {
        ++waiting_;
        return true;
    }
    if (static_cast<std::size_t>(working_) == started_) {
        if (started_ == spares_.size()) return false;
        try {
            auto spare = std::make_unique<Spare>(p_.place, p_.place + static_cast<int>(started_));
            spare->thread = start_thread("a spare thread", [this, &spare = *spare] { run(spare); });
            p_.progress.count(spare->worker);  // before it runs a task: it has not been called
            spares_[started_++] = std::move(spare);
        } catch (const Error& error) {  // the system allows no more threads
            spdlog::debug("basalt: {}", error.what());
            return false;
        }
    }
    ++waiting_;
    ++working_;
    ++calls_;
    called_.notify_one();
    return true;
}

void SpareThreads::end_wait() {
    {
        const std::lock_guard guard(lock_);
        --waiting_;
    }
    p_.parking.wake_scope(this);  // spare threads without work
}

/// Whether fewer threads wait than spare ones work; then the caller does not work any more.
bool SpareThreads::may_rest() {
    const std::lock_guard guard(lock_);
    if (working_ <= waiting_) return false;
    --working_;
    return true;
}

void SpareThreads::run(Spare& spare) {
    const ThreadContext context(p_.graph, &spare.worker, nullptr);
    while (true) {
        {
            std::unique_lock guard(lock_);
            called_.wait(guard, [this] { return stop_ || calls_ > 0; });
            if (stop_) return;
            --calls_;
        }
        bool rests = false;  // it is asked more than once
        // the children of tasks, since these wait for children
        p_.loop.work_until(spare.worker, 1, this, [&] { return rests = rests || may_rest(); });
    }
}

void SpareThreads::stop() {
    {
        const std::lock_guard guard(lock_);
        stop_ = true;
    }
    called_.notify_all();
    for (const auto& spare : spares_) {
        if (spare != nullptr && spare->thread.joinable()) spare->thread.join();
    }
}

}  // namespace basalt::detail
