#pragma once

#include "bench/versus_options.hpp"

namespace bench {

/// Hybrid LU beside cuSOLVER's getrf and cuBLAS's gemm, for every size, in turn: prints the table, writes the records.
/// Returns the exit status: 1 where a check failed. Throws std::bad_alloc, std::runtime_error (no GPU).
int versus_lu_gpu(const VersusOptions& options);

}  // namespace bench
