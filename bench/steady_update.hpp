#pragma once

#include <cstddef>
#include <deque>
#include <limits>
#include <memory>
#include <vector>

#include "bench/device_array.hpp"
#include "bench/plain_gemm.hpp"
#include "bench/stream_event.hpp"
#include "runtime/device/device.hpp"

namespace bench {

/// Multiplications C -= A B on the stream of low priority, one behind the other.
template <class T>
class SteadyUpdate {
  public:
    explicit SteadyUpdate(basalt::detail::Device& device)
        : device_(device),
          a_(device, random_values<T>(rows * depth, 1)),
          b_(device, random_values<T>(depth * cols, 2)),
          c_(device, random_values<T>(rows * cols, 3)) {}

    /// Forgets what was; times count from now.
    void begin() {
        finished_.clear();
        device_.launch(basalt::detail::StreamRole::compute, [this](basalt::Stream stream) { origin_.record(stream); });
        keep_busy();
    }

    /// Call it often: some are always enqueued.
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

    /// Gflop/s of those that finished between two times; NaN where there are not two.
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
