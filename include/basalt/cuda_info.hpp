#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace basalt {

/// One GPU as CUDA describes it. Numbers count the GPUs that CUDA_VISIBLE_DEVICES leaves, as the runtime's do.
struct CudaGpu {
    std::string model;       ///< e.g. "NVIDIA H200"
    std::size_t memory = 0;  ///< bytes
    int multiprocessors = 0;
    std::string capability;  ///< compute capability, e.g. "9.0"
    std::string bus_id;      ///< on the PCI bus, e.g. "0000:1b:00.0"
    std::vector<int> peers;  ///< GPUs whose memory it reaches directly
};

/// What this build and this machine know of CUDA. Versions are CUDA's numbers, 1000 major + 10 minor; 0: none.
struct CudaInfo {
    int built_with = 0;   ///< toolkit that the library was built with; 0: built without CUDA
    int runtime = 0;      ///< CUDA runtime library that is loaded
    int driver = 0;       ///< newest version that the driver supports; 0: no driver
    std::string trouble;  ///< why there are no GPUs, in CUDA's words; empty where there are some or without CUDA
    std::vector<CudaGpu> gpus;
};

/// Asks the driver, if there is one; allocates nothing on the GPUs. Does not throw when there is no GPU.
CudaInfo cuda_info();

}  // namespace basalt
