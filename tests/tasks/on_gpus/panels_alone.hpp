#pragma once

#include <memory>

#include "basalt/trace.hpp"
#include "basalt/tuning.hpp"
#include "tests/common/catch.hpp"
#include "tests/tasks/on_gpus/gpu_tables.hpp"

namespace basalt_tests {

/// The built-in tables with GpuDeal::panels_alone_below of LU and QR set for all GPUs.
inline std::shared_ptr<const basalt::TuningTables> tables_with_panels_alone_below(basalt::Index columns) {
    return gpu_tables_with([&](basalt::GpuTuning& gpu) {
        gpu.lu.deal.panels_alone_below = columns;
        gpu.qr.deal.panels_alone_below = columns;
    });
}

/// Checks that GPUs which factor a panel begin the update of the step before behind it.
inline void check_panels_alone(const basalt::Trace& trace) {
    int followed = 0;
    const auto device = [&](const basalt::TraceEvent& e) { return trace.rows[static_cast<std::size_t>(e.row)].device; };
    for (const basalt::TraceEvent& panel : trace.events) {
        if (panel.name != "panel") continue;
        for (const basalt::TraceEvent& update : trace.events) {
            if (update.name != "update" || update.step != panel.step.value() - 1 || device(update) != device(panel))
                continue;
            ++followed;
            INFO("panel " << *panel.step);
            CHECK(update.begin_ns >= panel.end_ns);
        }
    }
    CHECK(followed > 0);
}

}  // namespace basalt_tests
