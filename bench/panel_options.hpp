#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <basalt/view.hpp>

namespace bench {

/// What bench_panel measures, as the command line asks for it.
struct PanelOptions {
    std::string mode = "cpu";
    std::vector<basalt::Index> heights{1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072};
    std::vector<basalt::Index> widths;  ///< none: the usual ones
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
    std::vector<int> blocks{0};  ///< of the designs `cluster` and `grid`; 0: as many as are good for the height
    int leaf_width = 0;          ///< 0: as the design likes it
    /// Of the design `fused`: taller ones go by steps; 0: those that registers do not hold.
    basalt::Index tallest_leaf = 0;
    bool beside_update = false;
    std::string log;  ///< file for the trace of what the blocks are busy with
};

/// LAPACK's operation count of LU.
inline double operations(basalt::Index m, basalt::Index n) {
    const auto k = static_cast<double>(std::min(m, n)), l = static_cast<double>(std::max(m, n));
    return k * k * (l - k / 3);
}

}  // namespace bench
