#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "tuner/candidate.hpp"
#include "tuner/compiler.hpp"
#include "tuner/limits.hpp"

namespace basalt::tuner {

/// What became of a kernel on the GPU.
struct Trial {
    std::string error;   ///< why it could not be launched, or failed when it ran; empty: it ran
    double ratio = 0;    ///< of BatchCheck::worst_ratio()
    double seconds = 0;  ///< for the whole batch; only where the ratio passes
};

/// The GPU that candidates run on. Used by one thread.
class TunedGpu {
  public:
    virtual ~TunedGpu() = default;

    virtual std::string name() const = 0;  ///< e.g. "NVIDIA H200"
    virtual const GpuLimits& limits() const = 0;
    /// What comes next are kernels for this problem: makes its batch.
    virtual void prepare(const Problem& problem) = 0;
    /// Launches a kernel on the batch, checks and times it. Throws GpuLost where an error of the kernel leaves the
    /// GPU unusable for this process.
    virtual Trial run(const Candidate& candidate, const Compiled& compiled) = 0;
};

/// The GPU is of no use for this process any more; what() names the call and the error.
class GpuLost : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// There is no driver or no GPU; what() says which.
class GpuMissing : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// GPU 0 of CUDA's driver, which is loaded when this is called. `matrices`: of a timed batch. Throws GpuMissing.
std::unique_ptr<TunedGpu> open_cuda_gpu(Index matrices);

}  // namespace basalt::tuner
