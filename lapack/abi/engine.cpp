#include "lapack/abi/engine.hpp"

#include <atomic>
#include <climits>
#include <cstdio>
#include <cstring>

#include <dlfcn.h>
#include <pthread.h>

namespace basalt::lapack {

namespace {

constinit std::atomic<const Engine*> loaded{nullptr};
constinit std::atomic<bool> failed{false};
pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
constinit char failure[256] = "";  // written before `failed`

constinit thread_local bool inside = false;

/// How far this process is with its first call, which makes the runtime. A child process has copies of locks and
/// half-made objects, but not the threads that would finish them. So it makes a runtime of its own; if a thread was in
/// an early call at the fork, it passes all calls on.
struct Beginning {
    std::atomic<int> calls{0};           ///< early ones, which began before one was done
    std::atomic<bool> over{false};       ///< one is done
    std::atomic<bool> cut_short{false};  ///< by a fork

    // By the only thread of a child process; other threads' changes are all before the fork or never seen.
    void leave_in_child() {
        if (calls.load(std::memory_order_relaxed) > 0) cut_short.store(true, std::memory_order_relaxed);
        calls.store(0, std::memory_order_relaxed);
        over.store(false, std::memory_order_relaxed);
    }
};
constinit Beginning beginning;

/// A call, from before it takes any lock.
class BeganCall {
  public:
    // acquire: who is not counted finds the runtime that the done call made. seq_cst: a fork that finds a lock of this
    // call taken finds the call counted.
    BeganCall() : is_early_(!beginning.over.load(std::memory_order_acquire)) {
        if (is_early_) beginning.calls.fetch_add(1, std::memory_order_seq_cst);
    }
    void end(bool done) const {
        if (!is_early_) return;
        if (done) beginning.over.store(true, std::memory_order_seq_cst);
        beginning.calls.fetch_sub(1, std::memory_order_seq_cst);
    }

  private:
    const bool is_early_;
};

/// The engine lies next to this library.
bool engine_path(char* path, std::size_t size) {
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(&engine_path), &info) == 0 || info.dli_fname == nullptr) return false;
    const char* const slash = std::strrchr(info.dli_fname, '/');
    const int folder = slash != nullptr ? static_cast<int>(slash - info.dli_fname + 1) : 0;
    const int length = std::snprintf(path, size, "%.*slibbasalt_lapack_engine.so", folder, info.dli_fname);
    return length > 0 && static_cast<std::size_t>(length) < size;
}

const Engine* load() {
    char path[PATH_MAX];
    if (!engine_path(path, sizeof path)) {
        std::snprintf(failure, sizeof failure, "the engine's folder is not known");
        return nullptr;
    }
    // its symbols stay its own: it must not replace anything in the program
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void* const function = library != nullptr ? dlsym(library, engine_symbol) : nullptr;
    if (function == nullptr) {
        const char* const error = dlerror();
        std::snprintf(failure, sizeof failure, "%s", error != nullptr ? error : "the engine has another version");
        return nullptr;
    }
    return reinterpret_cast<const Engine* (*)()>(function)();
}

const Engine* engine() {
    const Engine* known = loaded.load(std::memory_order_acquire);
    if (known != nullptr || failed.load(std::memory_order_acquire)) return known;
    pthread_mutex_lock(&loading);
    known = loaded.load(std::memory_order_acquire);
    if (known == nullptr && !failed.load(std::memory_order_relaxed)) {
        known = load();
        loaded.store(known, std::memory_order_release);
        failed.store(known == nullptr, std::memory_order_release);
    }
    pthread_mutex_unlock(&loading);
    return known;
}

// A child process must not inherit the lock as another thread held it.
void lock_before_fork() { pthread_mutex_lock(&loading); }
void unlock_after_fork() { pthread_mutex_unlock(&loading); }
void leave_in_child() {
    unlock_after_fork();
    beginning.leave_in_child();
}
__attribute__((constructor)) void watch_forks() { pthread_atfork(lock_before_fork, unlock_after_fork, leave_in_child); }

}  // namespace

bool inside_engine() { return inside; }

bool forked_at_first_call() { return beginning.cut_short.load(std::memory_order_relaxed); }

bool execute(Call& call, char* reason, std::size_t size) {
    if (forked_at_first_call()) {
        std::snprintf(reason, size, "the process was forked while another thread was in one of its first calls");
        return false;
    }
    const BeganCall began;
    inside = true;  // what the loading of the engine calls is not for it
    const Engine* const known = engine();
    bool done = false;
    if (known != nullptr) {
        done = known->execute(call, reason, size);
    } else {
        std::snprintf(reason, size, "%s", failure);
    }
    inside = false;
    began.end(done);
    return done;
}

}  // namespace basalt::lapack
