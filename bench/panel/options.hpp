#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <basalt/view.hpp>

namespace bench {

/// The options of bench_panel.
struct PanelOptions {
    std::string mode = "cpu";
    std::vector<basalt::Index> heights{1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072};
    std::vector<basalt::Index> widths;  ///< empty: the default widths
    std::string precision = "d";
    int repeat = 7;
    bool vendor = true;
    std::string json;
    // mode cpu
    std::vector<int> threads;
    bool unblocked = true;
    bool phases = false;
    // mode gpu
    std::vector<std::string> designs{"cluster", "grid", "fused", "steps"};
    std::vector<int> blocks{0};  ///< of the designs `cluster` and `grid`; 0: the default for the height
    int leaf_width = 0;          ///< 0: the design's default
    /// Rows of the tallest leaf of the design `fused`, above which it goes by steps; 0: as many as registers hold.
    basalt::Index tallest_leaf = 0;
    bool beside_update = false;
    std::string log;  ///< file for the trace of the thread blocks' work
};

/// LAPACK's operation count of LU.
inline double operations(basalt::Index m, basalt::Index n) {
    const auto k = static_cast<double>(std::min(m, n)), l = static_cast<double>(std::max(m, n));
    return k * k * (l - k / 3);
}

}  // namespace bench
