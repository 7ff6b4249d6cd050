#include "runtime/workers/progress.hpp"

#include <algorithm>
#include <atomic>

namespace basalt::detail {

void Progress::count(const Worker& worker) {
    const std::lock_guard guard(workers_.lock);
    const std::size_t number = workers_.count.load(std::memory_order_relaxed);
    workers_.list[number] = &worker;
    // release: who reads the number reads the entry. Nothing has finished there yet, so who reads the old number misses
    // nothing.
    workers_.count.store(number + 1, std::memory_order_release);
}

std::uint64_t Progress::completed() const {
    std::uint64_t sum = 0;
    // acquire: pairs with Completion::settle(): what a counted task wrote is visible
    for (const Worker* worker : workers_.all()) sum += worker->completed.load(std::memory_order_acquire);
    return sum;
}

std::uint64_t Progress::in_flight() const {
    // Completed first: a task is counted as submitted before it can complete, so the difference never is
    // negative, and zero means that nothing was in flight at some moment in between.
    const std::uint64_t done = completed();
    return root_.submitted.load(std::memory_order_acquire) - done;
}

bool Progress::users_idle() const {
    const bool housekeeping = graph_.housekeeping().outstanding.load(std::memory_order_acquire) > 1;
    return in_flight() == 0 && graph_.busy_graphs() <= (housekeeping ? 1 : 0);
}

std::uint64_t Progress::activity() const {
    std::uint64_t sum = completed();
    for (const Worker* worker : workers_.all()) sum += worker->kernels.load(std::memory_order_relaxed);
    return sum;
}

int Progress::running_elsewhere() const {
    const Worker* own = ThreadContext::worker_of(graph_);
    const auto all = workers_.all();
    return static_cast<int>(std::count_if(all.begin(), all.end(), [&](const Worker* worker) {
        return worker != own && worker->running.load(std::memory_order_relaxed) != nullptr;
    }));
}

std::string Progress::running() const {
    std::string text;
    for (const Worker* worker : workers_.all()) {
        const char* name = worker->running.load(std::memory_order_relaxed);
        if (name == nullptr) continue;
        if (!text.empty()) text += ", ";
        text += "'" + std::string(name) + "' on worker " + std::to_string(worker->place);
    }
    return text.empty() ? "none" : text;
}

void Progress::announce_quiescence() {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // own counter first, then the others'
    if (in_flight() != 0) return;
    if (parking_.anyone_parked()) parking_.wake_scope(&root_);
    outside_.notify_waiters();
}

}  // namespace basalt::detail
