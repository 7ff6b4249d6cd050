#pragma once

#include <memory>

#include "basalt/tuning.hpp"

namespace basalt_tests {

/// The built-in tables after change(entry) for each GpuTuning of them.
template <class F>
std::shared_ptr<const basalt::TuningTables> gpu_tables_with(const F& change) {
    const auto tables = std::make_shared<basalt::TuningTables>(basalt::TuningTables::built_in());
    for (basalt::GpuTuning& gpu : tables->gpus) change(gpu);
    return tables;
}

/// Tile columns in a GPU's memory that are wider or higher than 64 arrive in two parts and leave in several.
inline std::shared_ptr<const basalt::TuningTables> tables_of_small_parts() {
    return gpu_tables_with([](basalt::GpuTuning& gpu) { gpu.conversion = {.parts = 1000, .least_bytes = 0}; });
}

}  // namespace basalt_tests
