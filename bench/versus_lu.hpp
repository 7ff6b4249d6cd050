#pragma once

#include "bench/versus_options.hpp"

namespace bench {

/// Ours beside OpenBLAS's getrf and gemm for every size: prints the table, writes the records.
/// Returns the exit status: 1 where a check failed. Throws std::bad_alloc.
int versus_lu(const VersusOptions& options);

}  // namespace bench
