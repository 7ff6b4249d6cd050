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

/// In a child process, by its only thread. The lock is free, or never asked for: see forked_at_first_call().
void forget_in_child() {
    const Runtime* const runtime = shared.exchange(nullptr);
    parent_used_gpus = parent_used_gpus || (runtime != nullptr && runtime->gpus() > 0);
}
/// When the library is loaded, since the first runtime may be made while another thread forks.
[[maybe_unused]] const int watched = pthread_atfork(nullptr, nullptr, forget_in_child);

}  // namespace

Runtime& shared_runtime(void (*begin)()) {
    if (Runtime* const known = shared.load(std::memory_order_acquire)) return *known;
    const std::lock_guard guard(making);
    Runtime* runtime = shared.load(std::memory_order_relaxed);
    if (runtime == nullptr) {
        begin();
        runtime = new Runtime(settings_of_process());
        shared.store(runtime, std::memory_order_release);
    }
    return *runtime;
}

}  // namespace basalt::lapack
