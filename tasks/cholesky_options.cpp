#include "tasks/cholesky_options.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace basalt {

namespace {

struct SizeEntry {
    Index up_to;  ///< order
    TileShape tile;
};

// docs/decisions/0011-cholesky.md has the measurements. Width is the panel's too.
constexpr std::array sizes{SizeEntry{256, {128, 32}}, SizeEntry{768, {256, 64}}, SizeEntry{2000, {512, 128}},
                           SizeEntry{Index{1} << 62, {512, 256}}};

struct GpuEntry {
    Index up_to;  ///< order
    Index hybrid_panel;
    Index gpu_panel;
    Index tile;  ///< width; wide ones keep the GPUs' products fast
};

constexpr std::array gpu_sizes{GpuEntry{2048, 128, 256, 2048}, GpuEntry{8192, 256, 512, 4096},
                               GpuEntry{16384, 256, 1024, 4096}, GpuEntry{Index{1} << 62, 512, 1024, 4096}};

// Panels on a GPU are factored beside the updates as long as these last longer, for which so many columns have to be
// left for each of a panel's. Narrower ones than the second number do not come sooner for each column.
constexpr Index left_a_column = 8, narrowest_on_gpu = 256;

// Several GPUs have the same work at the end only if each has some tile columns then.
constexpr Index tile_columns_a_gpu = 8, smallest_gpu_tile = 512, gpu_tile_height = 512;

// Below this order the cores alone are done before the GPUs have the matrix.
constexpr Index smallest_on_gpus = 2048;

const GpuEntry& gpu_entry(Index n) {
    return *std::find_if(gpu_sizes.begin(), gpu_sizes.end(), [&](const GpuEntry& e) { return n <= e.up_to; });
}

}  // namespace

Index default_cholesky_panel(FactorMode mode, Index n, int) {
    if (mode == FactorMode::cpu) return default_cholesky_tile(n).width;
    return mode == FactorMode::gpu ? gpu_entry(n).gpu_panel : gpu_entry(n).hybrid_panel;
}

TileShape default_cholesky_tile(Index n, int gpus) {
    if (gpus > 0 && n >= smallest_on_gpus) {
        Index tile = gpu_entry(n).tile;
        while (gpus > 1 && tile > smallest_gpu_tile && n / tile < tile_columns_a_gpu * gpus) tile /= 2;
        return {gpu_tile_height, tile};
    }
    return std::find_if(sizes.begin(), sizes.end(), [&](const SizeEntry& e) { return n <= e.up_to; })->tile;
}

FactorMode chosen_cholesky_mode(const CholeskyOptions& options, Index n, int gpus) {
    const char* const name = options.mode == FactorMode::gpu ? "gpu" : "hybrid";
    if (gpus == 0 && (options.mode == FactorMode::hybrid || options.mode == FactorMode::gpu)) {
        throw UsageError(std::string("CholeskyOptions::mode = ") + name +
                         ", but the runtime has no GPU; Config::emulation provides emulated ones");
    }
    FactorMode mode = options.mode;
    if (mode == FactorMode::automatic) {
        mode = gpus > 0 && n >= smallest_on_gpus ? FactorMode::gpu : FactorMode::cpu;
    }
    if (mode != FactorMode::cpu && options.lookahead > 1) {
        throw UsageError("CholeskyOptions::lookahead = " + std::to_string(options.lookahead) +
                         " on GPUs; allowed is -1 (chosen), 0 or 1");
    }
    return mode;
}

namespace detail {

CholeskyChoices::CholeskyChoices(const CholeskyOptions& options, Index n, int gpus)
    : mode(chosen_cholesky_mode(options, n, gpus)),
      widths{options.panel_width},
      lookahead(options.lookahead),
      keep_other_side(options.keep_other_side),
      split_products(options.split_products) {
    if (widths.width < 0) {
        throw UsageError("CholeskyOptions::panel_width = " + std::to_string(widths.width) +
                         "; allowed is 0 (chosen) or at least 1");
    }
    if (lookahead < -1) {
        throw UsageError("CholeskyOptions::lookahead = " + std::to_string(lookahead) +
                         "; allowed is -1 (chosen) or at least 0");
    }
    if (widths.width == 0) widths.width = default_cholesky_panel(mode, n, gpus);
    if (lookahead < 0) lookahead = 1;
    if (mode != FactorMode::cpu && options.narrow_at_end) {
        widths.left_a_column = left_a_column;
        widths.narrowest = narrowest_on_gpu;
    }
}

}  // namespace detail

}  // namespace basalt
