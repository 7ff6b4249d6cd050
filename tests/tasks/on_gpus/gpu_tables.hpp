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

}  // namespace basalt_tests
