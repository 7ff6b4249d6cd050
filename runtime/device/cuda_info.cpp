#include "basalt/cuda_info.hpp"

#include <array>

#include <cuda_runtime_api.h>

namespace basalt {

namespace {

CudaGpu describe(int number, int count) {
    CudaGpu gpu;
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, number) == cudaSuccess) {
        gpu.model = properties.name;
        gpu.memory = properties.totalGlobalMem;
        gpu.multiprocessors = properties.multiProcessorCount;
        gpu.capability = std::to_string(properties.major) + '.' + std::to_string(properties.minor);
    }
    std::array<char, 32> bus_id{};
    if (cudaDeviceGetPCIBusId(bus_id.data(), static_cast<int>(bus_id.size()), number) == cudaSuccess) {
        gpu.bus_id = bus_id.data();
    }
    for (int peer = 0; peer < count; ++peer) {
        int reachable = 0;
        if (peer != number && cudaDeviceCanAccessPeer(&reachable, number, peer) == cudaSuccess && reachable != 0) {
            gpu.peers.push_back(peer);
        }
    }
    return gpu;
}

}  // namespace

CudaInfo cuda_info() {
    CudaInfo info;
    info.built_with = CUDART_VERSION;
    cudaRuntimeGetVersion(&info.runtime);
    cudaDriverGetVersion(&info.driver);
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess) info.trouble = cudaGetErrorString(status);
    for (int number = 0; status == cudaSuccess && number < count; ++number) {
        info.gpus.push_back(describe(number, count));
    }
    cudaGetLastError();  // what failed here is told; later calls shall not find it
    return info;
}

}  // namespace basalt
