#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <basalt/product_precision.hpp>
#include <basalt/tile_shape.hpp>
#include <basalt/view.hpp>

namespace bench {

/// The options of bench_versus.
struct VersusOptions {
    std::vector<basalt::Index> sizes{4000};  ///< columns
    basalt::Index m = 0;                     ///< rows; 0: the number of columns
    basalt::Index nb = 0;                    ///< panel width; 0: the library chooses, as for options without a value
    basalt::TileShape tile = {};
    std::optional<int> panel_threads;
    std::optional<int> lookahead;
    char precision = 'd';
    int threads = 0;            ///< of both sides; 0: all cores that the process may use
    std::optional<int> repeat;  ///< rounds that count; empty: see rounds_that_count()
    std::uint64_t seed = 0;
    bool in_place = false;           ///< the user's array in a GPU's memory becomes the tiles' memory
    std::string method = "blocked";  ///< QR, mode cpu: blocked, tile or auto
    std::string json;
    std::string mode = "cpu";
    // modes hybrid and gpu
    std::optional<int> gpus;  ///< empty: all
    std::size_t gpu_memory = 0;
    std::string data = "device";
    std::string vendor = "auto";  ///< auto, cusolver, cusolvermg or none
    /// Candidates for the columns of a block dealt to a GPU for cuSOLVERMg, which runs with the fastest; empty: by
    /// routine.
    std::vector<basalt::Index> vendor_blocks;
    bool single_update_task = false;
    bool broadcast_from_host = false;
    bool narrow_at_end = true;
    std::optional<basalt::Index> coarse_width;
    std::optional<basalt::ProductPrecision> products;  ///< precision s, on GPUs; QR: nothing or plain
    std::optional<bool> left_looking;                  ///< Cholesky; false: right-looking
    bool upper = false;  ///< Cholesky: read the array by rows, so that its lower triangle is the upper one
    std::optional<basalt::Index> gpu_panels_below;
    bool rows_on_cores = false;  ///< Cholesky
    bool energy = false;         ///< measure the energy of ours and of the vendor's
    std::string tuning;          ///< file that overrides the tables
    std::string trace;           ///< file for the trace of the last run
};

/// The rounds of a size that count, when the fastest run so far took `seconds`: as many as the options say, otherwise
/// 3, and of short runs as many as make up a tenth of a second, at most 15. The first runs of a millisecond, the
/// warm-up most of all, are slower than later ones.
inline int rounds_that_count(const VersusOptions& options, double seconds) {
    constexpr int fewest = 3, most = 15;
    constexpr double enough = 0.1;
    if (options.repeat) return *options.repeat;
    return seconds * most < enough ? most : std::max(fewest, static_cast<int>(enough / seconds));
}

/// The same for people.
inline std::string rounds_text(const VersusOptions& options) {
    return options.repeat ? std::to_string(*options.repeat) : "3 to 15";
}

}  // namespace bench
