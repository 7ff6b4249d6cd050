#pragma once

#include <fmt/format.h>
#include <basalt/basalt.hpp>

#include "bench/common/machine_line.hpp"
#include "bench/versus/options.hpp"
#include "bench/versus/our_runs.hpp"
#include "io/files/json_record.hpp"

namespace bench {

/// The fields of a size's record that all modes share. The caller adds routine, panel width, operations and GPUs.
inline basalt::FactorRecord contest_record(const VersusOptions& options, const basalt::Runtime& runtime,
                                           basalt::Index m, basalt::Index n, basalt::TileShape tile,
                                           const OurRuns& ours) {
    basalt::FactorRecord record;
    record.precision = options.precision;
    record.m = m;
    record.n = n;
    record.tile = fmt::format("{}x{}", tile.height, tile.width);
    record.mode = options.mode;
    record.cpus = runtime.workers();
    record.runs = ours.seconds;
    record.residual_ratio = ours.residual_ratio;
    record.passed = ours.passed();
    record.machine = machine_line();
    return record;
}

}  // namespace bench
