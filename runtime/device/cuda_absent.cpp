// In the place of cuda_device.cpp where the library is built without CUDA.
#include "runtime/device/device.hpp"

namespace basalt::detail {

std::vector<std::unique_ptr<Device>> make_cuda_devices(int) { return {}; }

}  // namespace basalt::detail
