#pragma once

#include "bench/versus_options.hpp"

namespace bench {

/// Cholesky in the modes hybrid and gpu beside cuSOLVER's potrf and cuBLAS's gemm, for every size, in turn: prints the
/// table, writes the records. Returns the exit status: 1 where a check failed. Throws std::bad_alloc,
/// std::runtime_error (no GPU).
int versus_cholesky_gpu(const VersusOptions& options);

}  // namespace bench
