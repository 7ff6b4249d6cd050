#include "runtime/gangs/run_delay.hpp"

#include <atomic>
#include <charconv>
#include <chrono>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace basalt::detail {

namespace {

// A thread that shares its core loses it for one slice of the scheduler at a time, 3 to 10 ms. Over some ten slices the
// share is steady.
constexpr double remembered_ns = 60e6;

// With one other busy thread on every second core, the scheduler leaves a thread two thirds of its time. What a quiet
// system does in the background takes a few hundredths.
constexpr double late_share = 0.2;

// Less than this says nothing: a single preemption would be most of it.
constexpr double least_ns = 4e6;

constexpr auto sampling_period = std::chrono::milliseconds(2);

// After so long without a sample, what was known of the machine says nothing about it now.
constexpr auto forgotten_after = std::chrono::milliseconds(200);

std::atomic<LatenessSource> source_for_tests{nullptr};

/// "running waiting slices", the first two in nanoseconds. The file is opened every time: a descriptor kept open would
/// belong to the user's thread for as long as it lives.
std::optional<RunCounters> read_run_counters() {
    const int file = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (file < 0) return std::nullopt;
    char text[96];
    const ssize_t length = ::read(file, text, sizeof text);
    ::close(file);
    if (length <= 0) return std::nullopt;
    const char* const end = text + length;
    RunCounters counters{};
    const auto first = std::from_chars(text, end, counters.running_ns);
    if (first.ec != std::errc{} || first.ptr == end) return std::nullopt;
    const auto second = std::from_chars(first.ptr + 1, end, counters.waiting_ns);
    if (second.ec != std::errc{}) return std::nullopt;
    return counters;
}

}  // namespace

void RunDelay::update(const RunCounters& now) {
    if (last_) {
        running_ns_ += static_cast<double>(now.running_ns - last_->running_ns);
        waiting_ns_ += static_cast<double>(now.waiting_ns - last_->waiting_ns);
        const double all = running_ns_ + waiting_ns_;
        if (all > remembered_ns) {
            running_ns_ *= remembered_ns / all;
            waiting_ns_ *= remembered_ns / all;
        }
    }
    last_ = now;
}

bool RunDelay::late() const {
    const double all = running_ns_ + waiting_ns_;
    return all >= least_ns && waiting_ns_ > late_share * all;
}

bool this_thread_is_late() {
    if (const LatenessSource source = source_for_tests.load(std::memory_order_acquire)) return source();
    thread_local RunDelay delay;
    thread_local std::chrono::steady_clock::time_point last_sample{};
    const auto now = std::chrono::steady_clock::now();
    if (now - last_sample >= sampling_period) {
        if (now - last_sample >= forgotten_after) delay = {};
        last_sample = now;
        if (const auto counters = read_run_counters()) delay.update(*counters);
    }
    return delay.late();
}

void set_lateness_source(LatenessSource source) { source_for_tests.store(source, std::memory_order_release); }

}  // namespace basalt::detail
