#pragma once

#include "bench/versus/options.hpp"

namespace bench {

/// Compares Cholesky on cores with OpenBLAS's potrf and gemm, in turn, for every size. Prints the table and writes the
/// records. Returns the exit status: 1 if a check failed. Throws std::bad_alloc.
int versus_cholesky(const VersusOptions& options);

}  // namespace bench
