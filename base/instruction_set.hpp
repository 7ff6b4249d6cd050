#pragma once

namespace basalt {

/// Whether this machine runs kernels built for "avx512", "avx2" or "generic"; false for other names.
bool runs_instruction_set(const char* name);

/// The widest of those.
const char* widest_instruction_set();

}  // namespace basalt
