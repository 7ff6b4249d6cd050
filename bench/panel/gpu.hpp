#pragma once

#include "bench/panel/options.hpp"

namespace bench {

/// Compares the designs of the GPU panel with cuSOLVER's getrf of the same matrix, in turn, for every height and width.
/// Prints the table and writes the records. Throws std::runtime_error (no GPU), basalt::DeviceError.
void bench_panel_gpu(const PanelOptions& options);

}  // namespace bench
