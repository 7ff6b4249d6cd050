#pragma once

#include "bench/versus_options.hpp"

namespace bench {

/// QR on cores beside OpenBLAS's geqrf and gemm, for every size, in turn: prints the table, writes the records. Returns
/// the exit status: 1 where a check failed. Throws std::bad_alloc.
int versus_qr(const VersusOptions& options);

}  // namespace bench
