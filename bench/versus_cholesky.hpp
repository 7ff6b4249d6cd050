#pragma once

#include "bench/versus_options.hpp"

namespace bench {

/// Cholesky on cores beside OpenBLAS's potrf and gemm, for every size, in turn: prints the table, writes the records.
/// Returns the exit status: 1 where a check failed. Throws std::bad_alloc.
int versus_cholesky(const VersusOptions& options);

}  // namespace bench
