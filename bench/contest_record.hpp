#pragma once

#include <fmt/format.h>
#include <basalt/basalt.hpp>

#include "bench/build_commit.hpp"
#include "bench/machine_line.hpp"
#include "bench/our_runs.hpp"
#include "bench/versus_options.hpp"
#include "io/json_record.hpp"

namespace bench {

/// What the record of one size says in every mode; routine, panel width, operations and GPUs are left to fill in.
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
    record.commit = build_commit;
    return record;
}

}  // namespace bench
