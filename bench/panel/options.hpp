#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
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

inline constexpr basalt::Index tallest_panel = basalt::Index{1} << 26;

/// Checks the panels of all heights and of these widths, each of which is there `copies` times, before the first one is
/// made. `memory`: what has `available` bytes. Throws std::invalid_argument.
inline void require_panels_fit(const PanelOptions& options, const std::vector<basalt::Index>& widths, int copies,
                               const char* memory, std::size_t available) {
    const std::size_t element = options.precision == "s" ? sizeof(float) : sizeof(double);
    for (const basalt::Index m : options.heights) {
        for (const basalt::Index n : widths) {
            const std::size_t bytes = static_cast<std::size_t>(m) * static_cast<std::size_t>(n) * element;
            if (bytes <= available / static_cast<std::size_t>(copies)) continue;
            constexpr double gb = 1e9;
            throw std::invalid_argument(fmt::format(
                "--heights {} with --nb {}: {} copies of that panel take {:.1f} GB; {} has {:.1f} GB", m, n, copies,
                static_cast<double>(bytes) * copies / gb, memory, static_cast<double>(available) / gb));
        }
    }
}

/// LAPACK's operation count of LU.
inline double operations(basalt::Index m, basalt::Index n) {
    const auto k = static_cast<double>(std::min(m, n)), l = static_cast<double>(std::max(m, n));
    return k * k * (l - k / 3);
}

}  // namespace bench
