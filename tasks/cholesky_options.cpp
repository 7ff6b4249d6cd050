#include "tasks/cholesky_options.hpp"

#include <algorithm>
#include <string>

#include "tasks/scratch_matrix.hpp"
#include "tasks/tuning_entry.hpp"

namespace basalt {

using detail::entry_for;

Index default_cholesky_panel(const Tuning& tuning, FactorMode mode, Index n, Index tile_width) {
    if (mode == FactorMode::cpu) return entry_for(tuning.cpu.cholesky.sizes, n).panel;
    const bool fused = mode == FactorMode::gpu && n <= std::min(tuning.gpu.cholesky.fused_order, tile_width);
    if (fused) return std::max<Index>(n, 1);
    const GpuSizes& sizes = entry_for(tuning.gpu.cholesky.sizes, n);
    return mode == FactorMode::gpu ? sizes.gpu_panel : sizes.hybrid_panel;
}

TileShape default_cholesky_tile(const Tuning& tuning, Index n, int gpus) {
    const GpuTuning::Cholesky& cholesky = tuning.gpu.cholesky;
    if (gpus == 0 || n < cholesky.smallest_order) return entry_for(tuning.cpu.cholesky.sizes, n).tile;
    // one tile column, where it is, is no wider than the matrix
    const Index width = detail::dealt_tile(entry_for(cholesky.sizes, n).tile, cholesky.deal, n, gpus);
    return {cholesky.tile_height, std::min(width, detail::aligned(std::max<Index>(n, 1)))};
}

FactorMode chosen_cholesky_mode(const Tuning& tuning, const CholeskyOptions& options, Index n, int gpus) {
    const char* const name = options.mode == FactorMode::gpu ? "gpu" : "hybrid";
    if (gpus == 0 && (options.mode == FactorMode::hybrid || options.mode == FactorMode::gpu)) {
        throw UsageError(std::string("CholeskyOptions::mode = ") + name +
                         ", but the runtime has no GPU; Config::emulation provides emulated ones");
    }
    FactorMode mode = options.mode;
    if (mode == FactorMode::automatic) {
        const bool large = n >= tuning.gpu.cholesky.smallest_order || options.left_looking > 0;
        mode = gpus > 0 && large ? FactorMode::gpu : FactorMode::cpu;
    }
    if (options.left_looking > 0 && mode != FactorMode::gpu) {
        throw UsageError(std::string("CholeskyOptions::left_looking in mode ") +
                         (mode == FactorMode::cpu ? "cpu" : name) + "; it is of mode gpu");
    }
    if (mode != FactorMode::cpu && options.lookahead > 1) {
        throw UsageError("CholeskyOptions::lookahead = " + std::to_string(options.lookahead) +
                         " on GPUs; allowed is -1 (chosen), 0 or 1");
    }
    return mode;
}

namespace detail {

CholeskyChoices::CholeskyChoices(const Tuning& tuning, const CholeskyOptions& options, Index n, Index tile_width,
                                 int gpus)
    : mode(chosen_cholesky_mode(tuning, options, n, gpus)),
      widths{options.panel_width},
      lookahead(options.lookahead),
      keep_other_side(options.keep_other_side),
      split_products(options.split_products),
      left_looking(options.left_looking) {
    if (widths.width < 0) {
        throw UsageError("CholeskyOptions::panel_width = " + std::to_string(widths.width) +
                         "; allowed is 0 (chosen) or at least 1");
    }
    if (left_looking < -1 || left_looking > 1) {
        throw UsageError("CholeskyOptions::left_looking = " + std::to_string(left_looking) +
                         "; allowed is -1 (chosen), 0 or 1");
    }
    if (lookahead < -1) {
        throw UsageError("CholeskyOptions::lookahead = " + std::to_string(lookahead) +
                         "; allowed is -1 (chosen) or at least 0");
    }
    if (widths.width == 0) widths.width = default_cholesky_panel(tuning, mode, n, tile_width);
    if (lookahead < 0) lookahead = 1;
    if (mode != FactorMode::cpu && options.narrow_at_end && widths.width < n) {
        widths.left_a_column = tuning.gpu.cholesky.narrowing.left_a_panel_column;
        widths.narrowest = tuning.gpu.cholesky.narrowing.narrowest_panel;
    }
}

}  // namespace detail

}  // namespace basalt
