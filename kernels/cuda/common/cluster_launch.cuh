#pragma once

#include <array>
#include <cstddef>
#include <mutex>

#include <cuda_runtime_api.h>

namespace basalt::cuda_detail {

inline constexpr int most_numbered_devices = 64;

/// An answer for each device, found out once. Thread-safe.
template <class Answer>
class AskedOnce {
  public:
    /// ask() for the device, the first time; Answer{} for numbers that no device has.
    template <class F>
    Answer operator()(int device, const F& ask) {
        if (device < 0 || device >= most_numbered_devices) return Answer{};
        const auto d = static_cast<std::size_t>(device);
        std::call_once(asked_[d], [&] { answer_[d] = ask(); });
        return answer_[d];
    }

  private:
    std::array<std::once_flag, most_numbered_devices> asked_;
    std::array<Answer, most_numbered_devices> answer_{};
};

/// Room for what a cudaLaunchConfig_t points at.
using LaunchAttributes = std::array<cudaLaunchAttribute, 2>;

/// Clusters of `blocks` blocks, side by side, `rows` times. `attributes` are a part of it.
inline cudaLaunchConfig_t cluster_shape(LaunchAttributes& attributes, unsigned blocks, unsigned rows, unsigned threads,
                                        std::size_t shared_bytes, cudaStream_t stream) {
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim = {blocks, 1, 1};
    cudaLaunchConfig_t shape{};
    shape.gridDim = {blocks, rows, 1};
    shape.blockDim = threads;
    shape.dynamicSmemBytes = shared_bytes;
    shape.stream = stream;
    shape.attrs = attributes.data();
    shape.numAttrs = 1;
    return shape;
}

/// The kernel may be launched before the one in front of it in the stream has ended, which saves most of the time of a
/// launch. It calls wait_for_kernel_before() before it reads or writes the GPU's memory.
inline void follow_closely(LaunchAttributes& attributes, cudaLaunchConfig_t& shape) {
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[1].val.programmaticStreamSerializationAllowed = 1;
    shape.numAttrs = 2;
}

/// Whether the call succeeded. A failure is not left as CUDA's last error.
inline bool succeeded(cudaError_t status) {
    if (status != cudaSuccess) static_cast<void>(cudaGetLastError());
    return status == cudaSuccess;
}

inline bool has_clusters(int device) {
    int major = 0;
    return succeeded(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device)) && major >= 9;
}

/// Allow a kernel on the current device `bytes` of shared memory, and clusters of more than eight blocks with it.
/// Return whether CUDA does.
template <class Kernel>
bool allow_shared_bytes(Kernel kernel, std::size_t bytes) {
    return succeeded(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
}
template <class Kernel>
bool allow_clusters(Kernel kernel, std::size_t shared_bytes) {
    return allow_shared_bytes(kernel, shared_bytes) &&
           succeeded(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
}

/// How many clusters of this shape the current device runs at once; 0: none, or it cannot say.
template <class Kernel>
int most_clusters(Kernel kernel, const cudaLaunchConfig_t& shape) {
    int clusters = 0;
    return succeeded(cudaOccupancyMaxActiveClusters(&clusters, kernel, &shape)) ? clusters : 0;
}

}  // namespace basalt::cuda_detail
