#pragma once

#include <string>
#include <vector>

#include "apps/info/blas_info.hpp"
#include "apps/info/machine.hpp"
#include "apps/input/settings.hpp"
#include "basalt/cuda_info.hpp"

namespace basalt {

/// Reasons for which runs on this machine will be slow, with advice; one sentence each.
std::vector<std::string> slow_spots(const MachineInfo& machine, const BlasInfo& blas, const CudaInfo& cuda,
                                    const Settings& settings);

}  // namespace basalt
