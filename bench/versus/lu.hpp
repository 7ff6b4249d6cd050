#pragma once

#include "bench/versus/options.hpp"

namespace bench {

/// Compares LU on cores with OpenBLAS's getrf and gemm, in turn, for every size. Prints the table and writes the
/// records. Returns the exit status: 1 if a check failed. Throws std::bad_alloc.
int versus_lu(const VersusOptions& options);

}  // namespace bench
