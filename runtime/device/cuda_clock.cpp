#include "runtime/device/cuda_clock.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/device/cuda_check.hpp"

namespace basalt::detail {

namespace {

// all in nanoseconds
constexpr double period = 1e9;  // between two bases
constexpr double continuous_to = 5e9;  // a base older than that is forgotten: nobody asks for events around it
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
    has_before_ = passed < continuous_to;
    if (has_before_ && std::abs(measured - mapped) < largest_step) {
        before_.rate =
            (measured - now_.measured_begin) / passed + (measured - mapped) / std::max(period, passed);
    } else {
        before_.begin = measured;
        before_.rate = 1;
        has_before_ = false;
    }
    std::swap(now_, before_);
}

std::int64_t CudaClock::host_time(cudaEvent_t event) {
    const std::lock_guard lock(mutex_);
    if (host_now() - now_.measured_begin > period) renew();
    double passed = distance(now_.event, event);
    const Segment* segment = &now_;
    if (passed < 0 && has_before_) {
        segment = &before_;
        passed = distance(before_.event, event);
    }
    return std::llround(segment->begin + segment->rate * passed);
}

}  // namespace basalt::detail
