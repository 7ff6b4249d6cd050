#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <basalt/tile_shape.hpp>
#include <basalt/view.hpp>

namespace bench {

/// One comparison of bench_versus, as the command line asks for it.
struct VersusOptions {
    std::vector<basalt::Index> sizes{4000};  ///< columns
    basalt::Index m = 0;                     ///< rows; 0: as many as columns
    basalt::Index nb = 0;                    ///< panel width; 0: the library chooses, as for the next three
    basalt::TileShape tile = {};
    int panel_threads = 0;
    int lookahead = -1;
    char precision = 'd';
    int threads = 0;  ///< of both sides; 0: all that the process may use
    int repeat = 3;
    std::uint64_t seed = 0;
    bool in_place = false;           ///< the user's array in a GPU's memory becomes the tiles' memory
    std::string method = "blocked";  ///< QR, mode cpu: blocked, tile or auto
    std::string json;
    std::string mode = "cpu";
    // modes hybrid and gpu
    int gpus = -1;
    std::size_t gpu_memory = 0;
    std::string data = "device";
    std::string vendor = "auto";  ///< auto, cusolver, cusolvermg or none
    /// Columns of a block that is dealt to a GPU for cuSOLVERMg, the fastest of them; none: by routine.
    std::vector<basalt::Index> vendor_blocks;
    bool single_update_task = false;
    bool broadcast_from_host = false;
    bool narrow_at_end = true;
    basalt::Index coarse_width = -1;
    bool split_products = true;
    int left_looking = -1;  ///< Cholesky: 1, or 0: right-looking; -1: the library chooses
    bool upper = false;     ///< Cholesky: of the array read by rows, whose upper triangle its lower one is
    int gpu_panels_below = -1;
    bool rows_on_cores = false;  ///< Cholesky
    bool tf32 = false;
    bool energy = false;  ///< measure it, of ours and of the vendor's
    std::string tuning;   ///< file that overrides the tables
    std::string trace;    ///< file for the trace of the last run
};

}  // namespace bench
