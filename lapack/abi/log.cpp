#include "lapack/abi/log.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <initializer_list>

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

namespace basalt::lapack {

namespace {

constinit const char* path = nullptr;
constinit std::atomic<int> file{-1};

/// Sums for the summary at the end of the process.
struct Sums {
    std::atomic<long> calls{0};
    std::atomic<long long> nanoseconds{0};
    std::atomic<long long> megaflops{0};
};
constinit Sums taken[routines];
constinit Sums passed_on[routines];

int open_file() {
    int known = file.load(std::memory_order_acquire);
    if (known >= 0 || path == nullptr) return known;
    const int opened = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (opened < 0) return opened;
    if (file.compare_exchange_strong(known, opened, std::memory_order_acq_rel)) return opened;
    close(opened);  // another thread was faster
    return known;
}

void write_line(const char* text, int length) {
    const int descriptor = open_file();
    if (descriptor >= 0 && length > 0) [[maybe_unused]]
        const auto written = write(descriptor, text, static_cast<std::size_t>(length));
}

/// Whether the routine's third dimension means something.
bool has_k(Routine routine) {
    switch (routine) {
        case Routine::getrs:
        case Routine::gesv:
        case Routine::potrs:
        case Routine::posv:
        case Routine::orgqr:
        case Routine::ormqr:
        case Routine::gels:
        case Routine::trtrs:
        case Routine::dsgesv:
        case Routine::dsposv: return true;
        default: return false;
    }
}

/// "1000 x 500, 3"
struct Shape {
    explicit Shape(const Call& call) {
        std::snprintf(text, sizeof text, "%lld x %lld", static_cast<long long>(call.m), static_cast<long long>(call.n));
        if (!has_k(call.routine)) return;
        const std::size_t used = std::strlen(text);
        std::snprintf(text + used, sizeof text - used, ", %lld", static_cast<long long>(call.k));
    }
    char text[96];
};

void add(Sums& sums, const Call& call, double seconds) {
    sums.calls.fetch_add(1, std::memory_order_relaxed);
    sums.nanoseconds.fetch_add(static_cast<long long>(seconds * 1e9), std::memory_order_relaxed);
    sums.megaflops.fetch_add(static_cast<long long>(operations(call) / 1e6), std::memory_order_relaxed);
}

void write_sums(const char* what, Routine routine, const Sums& sums) {
    const long calls = sums.calls.load();
    if (calls == 0) return;
    const double seconds = static_cast<double>(sums.nanoseconds.load()) / 1e9;
    char line[256];
    write_line(line, std::snprintf(line, sizeof line, "%ld summary: %s %s: %ld calls, %.6f s, %.2f Gflop/s\n",
                                   static_cast<long>(getpid()), name_of(routine), what, calls, seconds,
                                   seconds > 0 ? static_cast<double>(sums.megaflops.load()) / 1e3 / seconds : 0.0));
}

/// A child process sums up its own calls.
void forget_sums() {
    for (Sums* const sums : {taken, passed_on}) {
        for (int i = 0; i < routines; ++i) sums[i].calls = 0, sums[i].nanoseconds = 0, sums[i].megaflops = 0;
    }
}

__attribute__((constructor)) void read_path() {
    const char* const text = std::getenv("BASALT_LAPACK_LOG");
    if (text == nullptr || *text == '\0') return;
    path = text;
    pthread_atfork(nullptr, nullptr, forget_sums);
}

__attribute__((destructor)) void write_summary() {
    if (!log_is_on()) return;
    for (int i = 0; i < routines; ++i) {
        write_sums("taken", static_cast<Routine>(i), taken[i]);
        write_sums("passed on", static_cast<Routine>(i), passed_on[i]);
    }
}

}  // namespace

bool log_is_on() { return path != nullptr; }

double now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

void log_call(const char* symbol, const Call& call, const Decision& decision, double seconds) {
    add((decision.take ? taken : passed_on)[static_cast<int>(call.routine)], call, seconds);
    const Shape shape(call);
    char line[512];
    int length = std::snprintf(line, sizeof line, "%ld %s (%s) %s: %s; %.6f s, %.2f Gflop/s, info %lld\n",
                               static_cast<long>(getpid()), symbol, shape.text, decision.take ? "taken" : "passed on",
                               decision.why, seconds, seconds > 0 ? operations(call) / 1e9 / seconds : 0.0,
                               static_cast<long long>(call.info));
    if (length >= static_cast<int>(sizeof line)) {
        length = sizeof line - 1;
        line[length - 1] = '\n';
    }
    write_line(line, length);
}

void log_query(const char* symbol, const Call& call) {
    const Shape shape(call);
    char line[256];
    write_line(line, std::snprintf(line, sizeof line, "%ld %s (%s) passed on: asks for the size of the workspace\n",
                                   static_cast<long>(getpid()), symbol, shape.text));
}

void log_refusal(const char* symbol, int argument) {
    char line[128];
    write_line(line, std::snprintf(line, sizeof line, "%ld %s refused: argument %d\n", static_cast<long>(getpid()),
                                   symbol, argument));
}

}  // namespace basalt::lapack
