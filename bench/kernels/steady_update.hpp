#pragma once

#include <cstddef>
#include <deque>
#include <limits>
#include <memory>
#include <vector>

#include "bench/common/device_array.hpp"
#include "bench/common/stream_event.hpp"
#include "bench/vendor/plain_gemm.hpp"
#include "runtime/device/device.hpp"

namespace bench {

/// Products C -= A B on the low-priority stream, one after the other.
template <class T>
class SteadyUpdate {
  public:
    explicit SteadyUpdate(basalt::detail::Device& device)
        : device_(device),
          a_(device, random_values<T>(rows * depth, 1)),
          b_(device, random_values<T>(depth * cols, 2)),
          c_(device, random_values<T>(rows * cols, 3)) {}

    /// Restarts the count; times are relative to this call.
    void begin() {
        finished_.clear();
        device_.launch(basalt::detail::StreamRole::compute, [this](basalt::Stream stream) { origin_.record(stream); });
        keep_busy();
    }

    /// Enqueues further products. Call it often, so that the stream is never empty.
    void keep_busy() {
        take_finished();
        while (running_.size() < queued) {
            running_.push_back(std::make_unique<StreamEvent>());
            device_.launch(basalt::detail::StreamRole::compute, [this](basalt::Stream stream) {
                plain_gemm<T>(stream, rows, cols, depth, a_.data(), b_.data(), c_.data());
                running_.back()->record(stream);
            });
        }
    }

    void end() {
        while (!running_.empty()) take_finished();
    }

    const StreamEvent& origin() const { return origin_; }

    /// Gflop/s of the products that ended between two times; NaN if fewer than two did.
    double rate(double from, double to) const {
        int count = -1;
        double first = 0, last = 0;
        for (const double time : finished_) {
            if (time < from || time > to) continue;
            if (++count == 0) first = time;
            last = time;
        }
        return count < 1 ? std::numeric_limits<double>::quiet_NaN() : count * flops * 1e-9 / (last - first);
    }

    static constexpr basalt::Index depth = 512;

  private:
    static constexpr basalt::Index rows = 8192, cols = 4096;  // 0.7 ms in double precision on an H200
    static constexpr double flops = 2.0 * rows * cols * depth;
    static constexpr std::size_t queued = 8;

    void take_finished() {
        for (; !running_.empty() && running_.front()->reached(); running_.pop_front()) {
            finished_.push_back(running_.front()->seconds_since(origin_));
        }
    }

    basalt::detail::Device& device_;
    const DeviceArray<T> a_, b_, c_;
    StreamEvent origin_;
    std::deque<std::unique_ptr<StreamEvent>> running_;
    std::vector<double> finished_;
};

}  // namespace bench
