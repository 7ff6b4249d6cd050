#pragma once

#include <string>
#include <vector>

#include "apps/blas_info.hpp"
#include "apps/machine.hpp"
#include "apps/settings.hpp"
#include "basalt/cuda_info.hpp"

namespace basalt {

/// What will be slow on this machine, and what to do about it; a sentence each.
std::vector<std::string> slow_spots(const MachineInfo& machine, const BlasInfo& blas, const CudaInfo& cuda,
                                    const Settings& settings);

}  // namespace basalt
