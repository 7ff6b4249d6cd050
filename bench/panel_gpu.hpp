#pragma once

#include "bench/panel_options.hpp"

namespace bench {

/// The designs of the GPU panel beside cuSOLVER's getrf of the same matrix, for every height and width, in turn:
/// prints the table, writes the records. Throws std::runtime_error (no GPU), basalt::DeviceError.
void bench_panel_gpu(const PanelOptions& options);

}  // namespace bench
