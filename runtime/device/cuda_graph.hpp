#pragma once

#include <functional>
#include <memory>

#include "basalt/device.hpp"

namespace basalt::detail {

/// Work of one stream that was captured and is launched again and again: a CUDA graph. Used by one thread at a time,
/// with the stream's device current.
class CudaGraph {
  public:
    CudaGraph();
    ~CudaGraph();
    CudaGraph(const CudaGraph&) = delete;
    CudaGraph& operator=(const CudaGraph&) = delete;

    /// Captures what `enqueue` enqueues on the stream; nothing of it runs. Replaces what was captured before. False
    /// where the work cannot be captured: it throws then, or CUDA refuses a call. The stream is as before.
    bool capture(Stream stream, const std::function<void()>& enqueue);
    /// Enqueues what was captured. Throws CudaFailure.
    void launch(Stream stream) const;

  private:
    struct Handles;
    std::unique_ptr<Handles> handles_;
};

}  // namespace basalt::detail
