// Replaces the cuda_ files where the library is built without CUDA.
#include "basalt/cuda_info.hpp"
#include "runtime/device/device.hpp"

namespace basalt {

CudaInfo cuda_info() { return {}; }

namespace detail {

std::vector<std::unique_ptr<Device>> make_cuda_devices(int, const TuningTables&) { return {}; }

}  // namespace detail

}  // namespace basalt
