#include "runtime/device/cuda_clock.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/device/cuda_check.hpp"
#include "runtime/device/cuda_timer.hpp"

namespace basalt::detail {

namespace {

// all in nanoseconds
constexpr double period = 1e9;          // between two bases
constexpr double continuous_to = 5e9;   // an older base is forgotten: no event around it is asked for
constexpr double largest_step = 200e3;  // what a rate may have to make up for; beyond that the time jumps
constexpr double most_patience = 20e6;  // for measuring; a device may be busy

double host_now() {
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

/// Nanoseconds from one event to another, which may have happened before it.
double distance(cudaEvent_t from, cudaEvent_t to) {
    float milliseconds = 0;
    if (try_cuda(cudaEventElapsedTime(&milliseconds, from, to), "cudaEventElapsedTime") && milliseconds > 0) {
        return static_cast<double>(milliseconds) * 1e6;
    }
    // only distances forwards are documented
    check_cuda(cudaEventElapsedTime(&milliseconds, to, from), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * -1e6;
}

}  // namespace

CudaClock::CudaClock() {
    int least = 0;
    int highest = 0;
    check_cuda(cudaDeviceGetStreamPriorityRange(&least, &highest), "cudaDeviceGetStreamPriorityRange");
    check_cuda(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, highest),
               "cudaStreamCreateWithPriority");  // does not queue behind kernels
    check_cuda(cudaEventCreate(&now_.event), "cudaEventCreate");
    check_cuda(cudaEventCreate(&before_.event), "cudaEventCreate");
    now_.begin = now_.measured_begin = measure(now_.event);
}

CudaClock::~CudaClock() {
    if (reading_ != nullptr) try_cuda(cudaFreeHost(reading_), "cudaFreeHost");
    try_cuda(cudaEventDestroy(now_.event), "cudaEventDestroy");
    try_cuda(cudaEventDestroy(before_.event), "cudaEventDestroy");
    try_cuda(cudaStreamDestroy(stream_), "cudaStreamDestroy");
}

/// Records the event on an idle stream and returns when that was: the attempt that took the shortest is the
/// surest.
double CudaClock::measure(cudaEvent_t event) const {
    constexpr int attempts = 8;
    const double start = host_now();
    double shortest = std::numeric_limits<double>::max();
    for (int i = 0;; ++i) {
        const double begin = host_now();
        check_cuda(cudaEventRecord(event, stream_), "cudaEventRecord");
        check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
        const double end = host_now();
        // the event keeps the last attempt's time, so that one has to be among the short ones
        const bool good = end - begin <= 1.1 * shortest;
        shortest = std::min(shortest, end - begin);
        if ((i >= attempts && good) || end - start > most_patience) return (begin + end) / 2;
    }
}

void CudaClock::renew() {
    const double measured = measure(before_.event);
    const double passed = distance(now_.event, before_.event);
    const double mapped = now_.begin + now_.rate * passed;
    before_.measured_begin = measured;
    before_.begin = mapped;
    before_.timer = now_.timer + std::llround(passed);  // events are timed by the same clock
    has_before_ = passed < continuous_to;
    if (has_before_ && std::abs(measured - mapped) < largest_step) {
        before_.rate = (measured - now_.measured_begin) / passed + (measured - mapped) / std::max(period, passed);
    } else {
        before_.begin = measured;
        before_.rate = 1;
        has_before_ = false;
    }
    std::swap(now_, before_);
}

void CudaClock::renew_if_old() {
    if (host_now() - now_.measured_begin > period) renew();
}

/// The surest of several readings is the one between the two closest events: on a busy device the kernel may wait.
void CudaClock::begin_timer() {
    constexpr int attempts = 16;
    constexpr double close = 20e3;
    check_cuda(cudaHostAlloc(reinterpret_cast<void**>(&reading_), sizeof *reading_, cudaHostAllocDefault),
               "cudaHostAlloc of a timer's reading");
    cudaEvent_t before = nullptr, after = nullptr;
    check_cuda(cudaEventCreate(&before), "cudaEventCreate");
    check_cuda(cudaEventCreate(&after), "cudaEventCreate");
    const double start = host_now();
    double closest = std::numeric_limits<double>::max();
    for (int i = 0; i < attempts || (closest > close && host_now() - start < most_patience); ++i) {
        check_cuda(cudaEventRecord(before, stream_), "cudaEventRecord");
        check_cuda(enqueue_timer_reading(reading_, stream_), "read_timer_kernel");
        check_cuda(cudaEventRecord(after, stream_), "cudaEventRecord");
        check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
        const double begin = distance(now_.event, before), end = distance(now_.event, after);
        if (end - begin >= closest) continue;
        closest = end - begin;
        now_.timer = *reading_ - std::llround((begin + end) / 2);
    }
    if (has_before_) before_.timer = now_.timer - std::llround(distance(before_.event, now_.event));
    try_cuda(cudaEventDestroy(before), "cudaEventDestroy");
    try_cuda(cudaEventDestroy(after), "cudaEventDestroy");
}

std::int64_t CudaClock::host_time_of_timer(std::int64_t timer) {
    const std::lock_guard lock(mutex_);
    renew_if_old();
    if (reading_ == nullptr) begin_timer();
    const Segment& segment = timer < now_.timer && has_before_ ? before_ : now_;
    return std::llround(segment.begin + segment.rate * static_cast<double>(timer - segment.timer));
}

std::int64_t CudaClock::host_time(cudaEvent_t event) {
    const std::lock_guard lock(mutex_);
    renew_if_old();
    double passed = distance(now_.event, event);
    const Segment* segment = &now_;
    if (passed < 0 && has_before_) {
        segment = &before_;
        passed = distance(before_.event, event);
    }
    return std::llround(segment->begin + segment->rate * passed);
}

}  // namespace basalt::detail
