#pragma once

#include <cuda_runtime_api.h>
#include <basalt/device.hpp>

#include "bench/common/gpu_check.hpp"

namespace bench {

inline cudaStream_t native_stream(basalt::Stream stream) { return static_cast<cudaStream_t>(stream.native()); }

/// A point in a stream, with its time.
class StreamEvent {
  public:
    StreamEvent() { check_cuda(cudaEventCreate(&event_), "cudaEventCreate"); }
    ~StreamEvent() { cudaEventDestroy(event_); }
    StreamEvent(const StreamEvent&) = delete;
    StreamEvent& operator=(const StreamEvent&) = delete;

    void record(basalt::Stream stream) {
        check_cuda(cudaEventRecord(event_, native_stream(stream)), "cudaEventRecord");
    }

    bool reached() const {
        const cudaError_t status = cudaEventQuery(event_);
        if (status == cudaErrorNotReady) return static_cast<void>(cudaGetLastError()), false;
        check_cuda(status, "cudaEventQuery");
        return true;
    }

    double seconds_since(const StreamEvent& other) const {
        float milliseconds = 0;
        check_cuda(cudaEventElapsedTime(&milliseconds, other.event_, event_), "cudaEventElapsedTime");
        return static_cast<double>(milliseconds) * 1e-3;
    }

  private:
    cudaEvent_t event_ = nullptr;
};

}  // namespace bench
