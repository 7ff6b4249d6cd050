#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace basalt {

/// What the GPU kernels of this build are compiled for: "sm_90" is machine code, "compute_90" PTX, which the driver
/// translates for newer GPUs. Empty without CUDA.
const std::vector<std::string>& built_gpu_architectures();

/// Whether code for these architectures runs on a GPU of that capability (90 for 9.0): machine code of the same major
/// capability and a minor one that is not higher, or PTX of a capability that is not higher.
bool has_code_for(const std::vector<std::string>& architectures, int capability);

/// From "sm_90" or "compute_90" 90; 0 where the name is neither.
int capability_of(std::string_view architecture);

/// Why the kernels of this build do not run on a GPU of that architecture ("sm_75"), and how to build them for it;
/// empty where they do.
std::string why_no_code_for(std::string_view architecture);

}  // namespace basalt
