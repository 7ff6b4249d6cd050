#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include <cuda_runtime_api.h>

namespace basalt::detail {

/// Maps the times of a device's events to nanoseconds of std::chrono::steady_clock.
///
/// Events have no absolute time, only a distance to another event, in milliseconds as a float. So there is a
/// base event whose time on the host is known, renewed about once a second: then the float keeps half a
/// microsecond, and the two clocks cannot drift apart. The mapping is continuous and increasing, so that
/// events keep their order: a new base starts at the mapping's present value, at a rate that corrects the deviation
/// within the next period.
///
/// Kernels read the device's timer (%globaltimer), which has an absolute time. When the first such time is asked for, a
/// kernel between two events reads the timer at the base event; from then on each base keeps its reading.
///
/// Everything throws CudaFailure. Safe to use from several threads.
class CudaClock {
  public:
    /// The device is current.
    CudaClock();
    ~CudaClock();
    CudaClock(const CudaClock&) = delete;
    CudaClock& operator=(const CudaClock&) = delete;

    /// Of an event of this device that has happened, was recorded with timing, and lies no more than a few
    /// seconds back.
    std::int64_t host_time(cudaEvent_t event);
    /// Of a reading of the device's timer in nanoseconds, no more than a few seconds old. The device is current.
    std::int64_t host_time_of_timer(std::int64_t timer);

  private:
    /// From `event` on: time = begin + rate * distance.
    struct Segment {
        cudaEvent_t event = nullptr;
        double begin = 0;  // nanoseconds; also below
        double measured_begin = 0;
        double rate = 1;
        std::int64_t timer = 0;  // the device's, at the event; once it has been asked for
    };

    double measure(cudaEvent_t event) const;
    void renew_if_old();
    void renew();
    void begin_timer();

    cudaStream_t stream_ = nullptr;
    std::mutex mutex_;
    Segment now_;  // guarded by mutex_, like all below
    Segment before_;
    bool has_before_ = false;
    std::int64_t* reading_ = nullptr;  // pinned; of the timer, once it has been asked for
};

}  // namespace basalt::detail
