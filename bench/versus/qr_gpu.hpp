#pragma once

#include "bench/versus/options.hpp"

namespace bench {

/// Compares QR in the modes hybrid and gpu with cuSOLVER's geqrf and cuBLAS's gemm, in turn, for every size. Prints the
/// table and writes the records. Returns the exit status: 1 if a check failed. Throws std::bad_alloc,
/// std::runtime_error (no GPU).
int versus_qr_gpu(const VersusOptions& options);

}  // namespace bench
