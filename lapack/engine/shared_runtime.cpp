#include "lapack/engine/shared_runtime.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include <pthread.h>

namespace basalt::lapack {

namespace {

/// Forks between the program's first process and this one, counted from the loading of this library on. Relaxed:
/// changed where no other thread exists.
std::atomic<unsigned> forks{0};
void count_fork() { forks.fetch_add(1, std::memory_order_relaxed); }
[[maybe_unused]] const int watched = pthread_atfork(nullptr, nullptr, count_fork);

/// A runtime and the process that made it: a child process finds its parent's.
struct SharedRuntime {
    explicit SharedRuntime(const Config& config) : runtime(config) {}

    const unsigned process = forks.load(std::memory_order_relaxed);
    Runtime runtime;
};

std::atomic<SharedRuntime*> shared{nullptr};
std::mutex making;
bool parent_used_gpus = false;  // under the lock. CUDA does not survive fork()

/// The number in an environment variable; 0 where there is none.
int number_in(const char* name) {
    const char* const text = std::getenv(name);
    int number = 0;
    if (text != nullptr) std::from_chars(text, text + std::strlen(text), number);
    return number;
}

Config settings_of_process() {
    Config config = Config::from_environment();
    for (const char* const name : {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"}) {
        if (config.workers == 0) config.workers = std::clamp(number_in(name), 0, Config::most_workers);
    }
    if (parent_used_gpus) config.gpus = 0;
    return config;
}

/// That of this process, or nullptr. acquire, with the release below: who finds it finds it complete.
SharedRuntime* known_here() {
    SharedRuntime* const known = shared.load(std::memory_order_acquire);
    return known != nullptr && known->process == forks.load(std::memory_order_relaxed) ? known : nullptr;
}

}  // namespace

Runtime& shared_runtime(void (*begin)()) {
    if (SharedRuntime* const known = known_here()) return known->runtime;
    // a process that is forked while a thread is here never comes here: see forked_at_first_call()
    const std::lock_guard guard(making);
    if (SharedRuntime* const known = known_here()) return known->runtime;
    begin();
    const SharedRuntime* const of_parent = shared.load(std::memory_order_relaxed);
    parent_used_gpus = parent_used_gpus || (of_parent != nullptr && of_parent->runtime.gpus() > 0);
    auto* const made = new SharedRuntime(settings_of_process());
    shared.store(made, std::memory_order_release);
    return made->runtime;
}

}  // namespace basalt::lapack
