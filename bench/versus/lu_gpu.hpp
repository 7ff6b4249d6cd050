#pragma once

#include "bench/versus/options.hpp"

namespace bench {

/// Compares LU in the modes hybrid and gpu with cuSOLVER's getrf and cuBLAS's gemm, in turn, for every size. Prints the
/// table and writes the records. Returns the exit status: 1 if a check failed. Throws std::bad_alloc,
/// std::runtime_error (no GPU).
int versus_lu_gpu(const VersusOptions& options);

}  // namespace bench
