#include "tasks/cholesky/options.hpp"

#include <algorithm>
#include <string>

#include "tasks/choices/option_range.hpp"
#include "tasks/choices/tuning_entry.hpp"
#include "tasks/on_gpus/scratch_matrix.hpp"

namespace basalt {

namespace {

using detail::entry_for;

/// Rows left at which GPUs update as fast as a core factors a diagonal block of order nb and one GPU solves for the
/// rows below it. The solution counts twice, since it slows the update that runs meanwhile.
Index rows_that_keep_diagonals_ahead(const Tuning& tuning, int gpus, Index nb) {
    const auto& cpu = tuning.cpu.cholesky;
    const auto& gpu = tuning.gpu.cholesky;
    const auto order = static_cast<double>(nb);
    const double block = cpu.diagonal_seconds + order * order * order / 3 / cpu.diagonal_rate;
    const double row = 2 * order * order / gpu.solve_rate, update = order / gpu.update_rate / gpus;
    return detail::rows_that_keep_cores_ahead(update, row, block);
}

/// options.gpu_panels_below with the choice made.
Index gpu_panels_below(const Tuning& tuning, const CholeskyOptions& options, Index n, Index tile_width, int gpus) {
    return detail::gpu_panels_below_in(options.mode, options.gpu_panels_below, [&] {
        const Index usual = entry_for(tuning.gpu.cholesky.sizes, n).hybrid_panel;
        const Index width = std::min(options.panel_width.value_or(usual), tile_width);
        return rows_that_keep_diagonals_ahead(tuning, gpus, width);
    });
}

}  // namespace

Index default_cholesky_panel(const Tuning& tuning, const CholeskyOptions& options, Index n, Index tile_width,
                             int gpus) {
    if (options.mode == FactorMode::cpu) return entry_for(tuning.cpu.cholesky.sizes, n).panel;
    const GpuSizes& sizes = entry_for(tuning.gpu.cholesky.sizes, n);
    if (n > gpu_panels_below(tuning, options, n, tile_width, gpus)) return sizes.hybrid_panel;
    const bool fused = n <= std::min(tuning.gpu.cholesky.fused_order, tile_width);
    if (fused) return std::max<Index>(n, 1);
    const bool in_half = options.products == ProductPrecision::fp16 || options.products == ProductPrecision::bf16;
    const bool wide = in_half && n >= tuning.gpu.cholesky.wide_panels_from;
    return wide ? std::min(tuning.gpu.cholesky.wide_panel, tile_width) : sizes.gpu_panel;
}

TileShape default_cholesky_tile(const Tuning& tuning, Index n, int gpus) {
    const GpuTuning::Cholesky& cholesky = tuning.gpu.cholesky;
    if (gpus == 0 || n < cholesky.smallest_order) return entry_for(tuning.cpu.cholesky.sizes, n).tile;
    const Index widest = detail::dealt_tile(entry_for(cholesky.sizes, n).tile, cholesky.deal, n, gpus);
    const Index columns = std::max<Index>(n, 1);
    // on one GPU tile columns are alike: one kernel factors the last, and the wider it is, the better
    const Index width = gpus == 1 ? detail::ceil_div(columns, detail::ceil_div(columns, widest)) : columns;
    return {cholesky.tile_height, std::min(widest, detail::aligned(width))};
}

FactorMode chosen_cholesky_mode(const Tuning& tuning, const CholeskyOptions& options, Index n, int gpus) {
    const char* const name = options.mode == FactorMode::gpu ? "gpu" : "hybrid";
    if (gpus == 0 && (options.mode == FactorMode::hybrid || options.mode == FactorMode::gpu)) {
        throw UsageError(std::string("CholeskyOptions::mode = ") + name +
                         ", but the runtime has no GPU; Config::emulation provides emulated ones");
    }
    FactorMode mode = options.mode;
    const bool left_looking = options.left_looking.value_or(false), in_single = is_single(options.products);
    if (mode == FactorMode::automatic) {
        const bool large = n >= tuning.gpu.cholesky.smallest_order || left_looking || !in_single;
        mode = gpus > 0 && large ? FactorMode::gpu : FactorMode::cpu;
    }
    if (mode == FactorMode::cpu && !in_single) {
        throw UsageError(
            "CholeskyOptions::products in mode cpu: they are in single precision there; allowed is hybrid or gpu");
    }
    if (left_looking && !in_single) {
        throw UsageError("CholeskyOptions::left_looking with products below single precision, which it does not have");
    }
    if (left_looking && mode != FactorMode::gpu) {
        throw UsageError(std::string("CholeskyOptions::left_looking in mode ") +
                         (mode == FactorMode::cpu ? "cpu" : name) + "; it is of mode gpu");
    }
    if (mode != FactorMode::cpu && options.lookahead.value_or(1) > 1) {
        throw UsageError("CholeskyOptions::lookahead = " + std::to_string(*options.lookahead) +
                         " on GPUs; allowed is 0 or 1");
    }
    return mode;
}

namespace detail {

CholeskyChoices::CholeskyChoices(const Tuning& tuning, const CholeskyOptions& options, Index n, Index tile_width,
                                 int gpus)
    : mode(chosen_cholesky_mode(tuning, options, n, gpus)),
      depth(tuning.cpu.cholesky.depth),
      lookahead(options.lookahead.value_or(1)),
      rows_on_cores(options.rows_on_cores),
      keep_other_side(options.keep_other_side),
      products(options.products),
      left_looking(options.left_looking) {
    require_at_least("CholeskyOptions::panel_width", options.panel_width, 1);
    require_at_least("CholeskyOptions::lookahead", options.lookahead, 0);
    require_at_least("CholeskyOptions::gpu_panels_below", options.gpu_panels_below, 0);
    CholeskyOptions decided = options;
    decided.mode = mode;
    widths.width = options.panel_width.value_or(default_cholesky_panel(tuning, decided, n, tile_width, gpus));
    gpu_panels_below = basalt::gpu_panels_below(tuning, decided, n, tile_width, gpus);
    if (mode == FactorMode::hybrid && n <= gpu_panels_below) mode = FactorMode::gpu;
    if (mode != FactorMode::cpu && options.narrow_at_end && widths.width < n) {
        widths.left_a_column = tuning.gpu.cholesky.narrowing.left_a_panel_column;
        widths.narrowest = tuning.gpu.cholesky.narrowing.narrowest_panel;
    }
}

}  // namespace detail

}  // namespace basalt
