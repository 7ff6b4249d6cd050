#pragma once

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/common/record_file.hpp"
#include "bench/panel/contest.hpp"
#include "bench/panel/options.hpp"
#include "bench/vendor/gpu.hpp"
#include "io/files/json_record.hpp"

namespace bench {

/// The table and the records of the panels on a GPU.
class PanelReport {
  public:
    using Index = basalt::Index;

    PanelReport(const PanelOptions& options, const basalt::detail::Device& device)
        : options_(options),
          gpu_(device.model()),
          table_(options.json == "-" ? stderr : stdout),
          records_(options.json) {
        fmt::print(table_, "panel on {}, precision {}, median of {} in turn; {}\n", gpu_, options.precision,
                   options.repeat, vendor_gpu_version());
        fmt::print(table_, "{:>7} {:>5} {:>13} {:>7} {:>9} {:>9} {:>8} {:>7}", "m", "nb", "design", "blocks", "ms",
                   "best ms", "Gflop/s", "ratio");
        if (options.beside_update)
            fmt::print(table_, " {:>10} {:>10} {:>10}", "during ms", "gemm alone", "gemm during");
        fmt::print(table_, "\n");
    }

    template <class T>
    void add(Index m, Index nb, const std::vector<PanelContestant<T>>& contestants) {
        const double vendor =
            options_.vendor ? basalt::median(contestants.back().runs) : std::numeric_limits<double>::quiet_NaN();
        for (const PanelContestant<T>& each : contestants) {
            const double seconds = basalt::median(each.runs),
                         best = *std::min_element(each.runs.begin(), each.runs.end());
            fmt::print(table_, "{:>7} {:>5} {:>13} {:>7} {:>9.3f} {:>9.3f} {:>8.1f} {:>7.2f}", m, nb, each.design,
                       each.blocks, seconds * 1e3, best * 1e3, operations(m, nb) / seconds * 1e-9, vendor / seconds);
            if (options_.beside_update) {
                fmt::print(table_, " {:>10.3f} {:>10.0f} {:>10.0f}", basalt::median(each.runs_beside) * 1e3,
                           each.update_alone, each.update_beside);
            }
            fmt::print(table_, "{}\n", each.agrees ? "" : "  other pivots");
            write(m, nb, each, seconds, best, vendor);
        }
        std::fflush(table_);
    }

  private:
    template <class T>
    void write(Index m, Index nb, const PanelContestant<T>& contestant, double seconds, double best, double vendor) {
        basalt::JsonRecord record;
        record["bench"] = "panel";
        record["mode"] = "gpu";
        record["precision"] = options_.precision;
        record["m"] = m;
        record["nb"] = nb;
        record["design"] = contestant.design;
        record["blocks"] = contestant.blocks;
        record["leaf_width"] = options_.leaf_width;
        if (options_.tallest_leaf > 0) record["tallest_leaf"] = options_.tallest_leaf;
        record["seconds"] = seconds;
        record["best_seconds"] = best;
        record["gflops"] = operations(m, nb) / seconds * 1e-9;
        record["runs"] = contestant.runs;
        if (options_.vendor) {
            record["vendor"] = vendor_gpu_version();
            record["getrf_seconds"] = vendor;
            record["ratio"] = vendor / seconds;
        }
        record["same_pivots"] = contestant.agrees;
        if (options_.beside_update) {
            record["seconds_beside"] = basalt::median(contestant.runs_beside);
            record["runs_beside"] = contestant.runs_beside;
            record["update_alone_gflops"] = contestant.update_alone;
            record["update_beside_gflops"] = contestant.update_beside;
        }
        record["gpu"] = gpu_;
        records_.write(record);
    }

    const PanelOptions& options_;
    const std::string gpu_;
    std::FILE* table_;
    RecordFile records_;
};

}  // namespace bench
