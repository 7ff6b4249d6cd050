#include "runtime/workers/worker_threads.hpp"

#include <chrono>
#include <string>
#include <utility>

#include "base/start_thread.hpp"

namespace basalt::detail {

namespace {

constexpr auto stand_in_period = std::chrono::milliseconds(1);
// A program that submits no more than that in a period is busy with something else most of the time.
constexpr std::uint64_t few_submissions = 16;

}  // namespace

void WorkerThreads::start() {
    try {
        threads_.push_back(start_thread("the thread of worker 0", [this] { stand_in_main(); }));
        for (std::size_t place = 1; place < p_.workers.size(); ++place) {
            threads_.push_back(start_thread("the thread of worker " + std::to_string(place),
                                            [this, place] { worker_main(*p_.workers[place]); }));
        }
    } catch (...) {  // the system allows no more threads
        stop();
        throw;
    }
}

void WorkerThreads::stop() {
    stop_.store(true, std::memory_order_release);
    p_.outside.notify_all();
    p_.parking.wake_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
}

void WorkerThreads::worker_main(Worker& worker) {
    p_.cores.bind_this_thread(worker.place);
    const ThreadContext context(p_.graph, &worker, nullptr);
    p_.loop.work_until(worker, 0, nullptr, [this] { return stopping(); });
}

/// Works place 0 while tasks are there and no outside thread does: little was submitted for a period, so the
/// program is busy elsewhere, or an outside thread calls for it. Leaves as soon as an outside thread asks for the
/// place.
void WorkerThreads::stand_in_main() {
    Worker& worker = *p_.workers[0];
    p_.cores.bind_this_thread(0);
    const ThreadContext context(p_.graph, &worker, nullptr);
    const Scope& root = p_.graph.root();
    const auto idle = [this] { return p_.progress.idle(); };
    const auto called = [this] { return p_.outside.needs_stand_in(); };
    std::uint64_t last_submitted = 0;
    bool came_in_vain = false;
    while (!stopping()) {
        if (idle()) p_.outside.park_stand_in([&] { return stopping() || !idle(); });
        p_.outside.rest_stand_in(stand_in_period, [&] { return stopping() || (called() && !came_in_vain); });
        const std::uint64_t submitted = p_.graph.submitted();
        const bool quiet = submitted - std::exchange(last_submitted, submitted) <= few_submissions;
        came_in_vain = (!quiet && !called()) || idle() || p_.outside.wanted() || !p_.outside.try_take();
        if (came_in_vain) continue;
        p_.outside.work_as_stand_in(
            [&] { p_.loop.work_until(worker, 0, &root, [&] { return stopping() || idle() || p_.outside.wanted(); }); });
    }
}

}  // namespace basalt::detail
