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

std::atomic<Runtime*> shared{nullptr};
std::mutex making;
bool parent_used_gpus = false;  // CUDA does not survive fork()

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

void lock_before_fork() { making.lock(); }
void unlock_after_fork() { making.unlock(); }
void forget_in_child() {
    const Runtime* const runtime = shared.exchange(nullptr);
    parent_used_gpus = parent_used_gpus || (runtime != nullptr && runtime->gpus() > 0);
    making.unlock();
}

}  // namespace

Runtime& shared_runtime() {
    if (Runtime* const known = shared.load(std::memory_order_acquire)) return *known;
    [[maybe_unused]] static const int watched = pthread_atfork(lock_before_fork, unlock_after_fork, forget_in_child);
    const std::lock_guard guard(making);
    Runtime* runtime = shared.load(std::memory_order_relaxed);
    if (runtime == nullptr) {
        runtime = new Runtime(settings_of_process());
        shared.store(runtime, std::memory_order_release);
    }
    return *runtime;
}

}  // namespace basalt::lapack
