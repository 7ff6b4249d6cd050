#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <basalt/tuning.hpp>

/// Every number of a tuning entry with its name and what is allowed: the one list that checks, reads and writes them.
///
/// A Visitor has
///     number(name, value, low, high)    value between low and high, both included (Index, int, std::size_t, double)
///     choice(name, value, allowed)      one of an array of numbers (int)
///     size(name, value)                 an Index from 0 on, or any_size
///     design(name, value)               one of panel_design_names
///     group(name, [](Visitor&) {...})   what belongs together
///     list(name, vector, length, [](Visitor&, element) {...})
/// and gets references to const numbers where the entry is const.
namespace basalt {

/// How many entries a list of a tuning entry may have.
enum class ListLength { any, one_or_more };

/// By GpuPanelDesign.
inline constexpr std::array<std::string_view, 4> panel_design_names{"cluster", "grid", "fused", "steps"};

namespace tuning_limits {
inline constexpr Index extent = Index{1} << 20;  ///< of a tile, panel or block of rows
inline constexpr Index order = Index{1} << 40;   ///< of a matrix
inline constexpr Index gpu_panel = 1024;         ///< widest panel on GPUs
inline constexpr int threads = 1024;
/// Of GpuCholeskyLeaf: what there are kernels for.
inline constexpr std::array cholesky_leaf_columns{64, 128};
inline constexpr std::array cholesky_leaf_tiles{16, 32};
/// Of GpuBatchWidth: likewise.
inline constexpr std::array batch_widths{8, 16, 32};
inline constexpr std::array batch_qr_widths{4, 8, 16};
inline constexpr std::size_t bytes = std::size_t{1} << 40;
}  // namespace tuning_limits

template <class Visitor, class Team>
void visit_panel_team(Visitor& visitor, std::string_view name, Team& team) {
    visitor.group(name, [&team](Visitor& v) {
        v.number("rows_a_thread", team.rows_a_thread, Index{1}, tuning_limits::order);
        v.number("most", team.most, 1, tuning_limits::threads);
    });
}

template <class Visitor, class Lists>
void visit_core_sizes(Visitor& visitor, Lists& sizes) {
    visitor.list("sizes", sizes, ListLength::one_or_more, [](Visitor& v, auto& entry) {
        v.size("up_to", entry.up_to);
        v.number("tile_height", entry.tile.height, Index{1}, tuning_limits::extent);
        v.number("tile_width", entry.tile.width, Index{1}, tuning_limits::extent);
        v.number("panel", entry.panel, Index{1}, tuning_limits::extent);
    });
}

template <class Visitor, class Depth>
void visit_core_depth(Visitor& visitor, Depth& depth) {
    visitor.group("depth", [&depth](Visitor& v) {
        v.number("columns", depth.columns, Index{1}, tuning_limits::extent);
        v.number("left_a_column", depth.left_a_column, Index{1}, tuning_limits::extent);
    });
}

template <class Visitor, class Lists, class Deal>
void visit_gpu_sizes(Visitor& visitor, Lists& sizes, Deal& deal) {
    visitor.list("sizes", sizes, ListLength::one_or_more, [](Visitor& v, auto& entry) {
        v.size("up_to", entry.up_to);
        v.number("hybrid_panel", entry.hybrid_panel, Index{1}, tuning_limits::gpu_panel);
        v.number("gpu_panel", entry.gpu_panel, Index{1}, tuning_limits::gpu_panel);
        v.number("tile", entry.tile, Index{1}, tuning_limits::extent);
    });
    visitor.group("deal", [&deal](Visitor& v) {
        v.number("tile_columns_a_gpu", deal.tile_columns_a_gpu, Index{1}, tuning_limits::extent);
        v.number("smallest_tile", deal.smallest_tile, Index{1}, tuning_limits::extent);
        v.number("widest_tile", deal.widest_tile, Index{1}, tuning_limits::extent);
        v.size("panels_alone_below", deal.panels_alone_below);
    });
}

template <class Visitor, class Narrowing>
void visit_narrowing(Visitor& visitor, Narrowing& narrowing) {
    visitor.group("narrowing", [&narrowing](Visitor& v) {
        v.number("left_a_panel_column", narrowing.left_a_panel_column, Index{1}, tuning_limits::extent);
        v.number("narrowest_panel", narrowing.narrowest_panel, Index{1}, tuning_limits::gpu_panel);
    });
}

template <class Visitor, class Splitting>
void visit_splitting(Visitor& visitor, Splitting& splitting) {
    visitor.group("splitting", [&splitting](Visitor& v) {
        v.number("least_depth", splitting.least_depth, Index{1}, tuning_limits::extent);
        v.number("least_multiplications", splitting.least_multiplications, 0.0, 1e30);
    });
}

template <class Visitor, class Lists>
void visit_batch_widths(Visitor& visitor, std::string_view name, Lists& lists) {
    using namespace tuning_limits;
    const auto visit_list = [](Visitor& v, std::string_view of, auto& list, const auto& allowed) {
        v.list(of, list, ListLength::any, [&allowed](Visitor& inner, auto& entry) {
            inner.size("up_to", entry.up_to);
            inner.choice("width", entry.width, allowed);
        });
    };
    visitor.group(name, [&](Visitor& v) {
        visit_list(v, "cholesky_factor", lists.cholesky_factor, batch_widths);
        visit_list(v, "cholesky_both", lists.cholesky_both, batch_widths);
        visit_list(v, "lu_factor", lists.lu_factor, batch_widths);
        visit_list(v, "qr_factor", lists.qr_factor, batch_qr_widths);
    });
}

/// The numbers of a CpuTuning.
template <class Visitor, class Entry>
void visit_cpu_tuning(Visitor& visitor, Entry& entry) {
    using namespace tuning_limits;
    visitor.number("copying_threads", entry.copying_threads, 1, threads);
    visitor.number("product_rows", entry.product_rows, Index{1}, extent);
    visitor.group("lu", [&lu = entry.lu](Visitor& v) {
        visit_core_sizes(v, lu.sizes);
        visit_panel_team(v, "team", lu.team);
        visit_panel_team(v, "team_beside_gpus", lu.team_beside_gpus);
        v.number("panel_column_seconds", lu.panel_column_seconds, 0.0, 1.0);
        v.number("panel_element_seconds", lu.panel_element_seconds, 0.0, 1.0);
        v.number("update_rows", lu.update_rows, Index{1}, extent);
        v.number("solve_rows", lu.solve_rows, Index{1}, extent);
        v.number("interchanged_columns", lu.interchanged_columns, Index{1}, extent);
        visit_core_depth(v, lu.depth);
    });
    visitor.group("cholesky", [&cholesky = entry.cholesky](Visitor& v) {
        visit_core_sizes(v, cholesky.sizes);
        v.number("diagonal_seconds", cholesky.diagonal_seconds, 0.0, 1.0);
        v.number("diagonal_rate", cholesky.diagonal_rate, 1e3, 1e15);
        visit_core_depth(v, cholesky.depth);
        v.number("solve_rows", cholesky.solve_rows, Index{1}, extent);
    });
    visitor.group("qr", [&qr = entry.qr](Visitor& v) {
        visit_core_sizes(v, qr.sizes);
        visit_panel_team(v, "team", qr.team);
        v.number("shared_panels", qr.shared_panels, Index{1}, extent);
        v.number("panel_column_seconds", qr.panel_column_seconds, 0.0, 1.0);
        v.number("panel_row_seconds", qr.panel_row_seconds, 0.0, 1.0);
        v.list("tile_sizes", qr.tile_sizes, ListLength::one_or_more, [](Visitor& inner, auto& size) {
            inner.size("up_to", size.up_to);
            inner.number("tile_height", size.tile.height, Index{1}, extent);
            inner.number("tile_width", size.tile.width, Index{1}, extent);
            inner.number("inner", size.inner, Index{1}, extent);
        });
        v.number("tile_aspect", qr.tile_aspect, 0.0, 1e30);
        v.number("domain_aspect", qr.domain_aspect, 0.0, 1e30);
        v.number("domain_tiles", qr.domain_tiles, Index{1}, extent);
        v.number("tree_bytes", qr.tree_bytes, 0.0, 1e30);
        v.number("apply_rows", qr.apply_rows, Index{1}, extent);
        v.number("solve_rows", qr.solve_rows, Index{1}, extent);
    });
}

template <class Visitor, class Links>
void visit_gpu_links(Visitor& visitor, Links& links) {
    using namespace tuning_limits;
    visitor.number("peer_chunk_bytes", links.peer_chunk_bytes, 1.0, 1e12);
    visitor.number("host_chunk_bytes", links.host_chunk_bytes, 1.0, 1e12);
    visitor.number("host_bytes_a_second", links.host_bytes_a_second, 1e3, 1e15);
    visitor.number("peer_bytes_a_second", links.peer_bytes_a_second, 1e3, 1e15);
    visitor.number("least_ring_bytes", links.least_ring_bytes, std::size_t{0}, bytes);
    visitor.number("least_share_bytes", links.least_share_bytes, std::size_t{0}, bytes);
    visitor.number("stripe_bytes", links.stripe_bytes, std::size_t{4096}, bytes);
    visitor.number("stripes_of_memory", links.stripes_of_memory, std::size_t{4}, bytes);
    visitor.group("relay", [&relay = links.relay](Visitor& v) {
        v.number("blocks", relay.blocks, 0, 1024);
        v.number("warps", relay.warps, 1, 16);
        v.number("chunk_bytes", relay.chunk_bytes, std::size_t{1}, std::size_t{1} << 30);
    });
}

template <class Visitor, class Lu>
void visit_gpu_lu(Visitor& visitor, Lu& lu) {
    using namespace tuning_limits;
    visit_gpu_sizes(visitor, lu.sizes, lu.deal);
    visitor.group("resident", [&resident = lu.resident](Visitor& v) {
        v.number("tile", resident.tile, Index{1}, extent);
        v.size("up_to", resident.up_to);
    });
    visitor.group("blocks", [&blocks = lu.blocks](Visitor& v) {
        v.size("least_order", blocks.least_order);
        v.number("width", blocks.width, Index{1}, extent);
    });
    visitor.group("in_place", [&in_place = lu.in_place](Visitor& v) {
        v.number("tile_columns", in_place.tile_columns, Index{1}, extent);
        v.number("narrowest_tile", in_place.narrowest_tile, Index{1}, extent);
    });
    visit_narrowing(visitor, lu.narrowing);
    visit_splitting(visitor, lu.splitting);
    visitor.group("panel_room", [&room = lu.panel_room](Visitor& v) {
        v.number("multiprocessors", room.multiprocessors, 0, 1024);
        v.number("column_seconds", room.column_seconds, 0.0, 1.0);
        v.number("element_seconds", room.element_seconds, 0.0, 1.0);
        v.number("multiplications_a_second", room.multiplications_a_second, 1e6, 1e18);
    });
    visitor.number("least_fp16_order", lu.least_fp16_order, Index{0}, order);
    visitor.number("solved_at_once", lu.solved_at_once, Index{1}, extent);
    visitor.number("leading_rows", lu.leading_rows, Index{0}, extent);
    visitor.size("early_solves_from", lu.early_solves_from);
    visitor.number("smallest_order", lu.smallest_order, Index{0}, order);
    visitor.number("update_rate", lu.update_rate, 1e6, 1e18);
    visitor.number("narrow_hybrid_below", lu.narrow_hybrid_below, Index{0}, order);
    visitor.number("narrowest_hybrid_panel", lu.narrowest_hybrid_panel, Index{1}, gpu_panel);
    visitor.size("wide_hybrid_above", lu.wide_hybrid_above);
    visitor.number("wide_hybrid_panel", lu.wide_hybrid_panel, Index{1}, gpu_panel);
}

template <class Visitor, class Cholesky>
void visit_gpu_cholesky(Visitor& visitor, Cholesky& cholesky) {
    using namespace tuning_limits;
    visit_gpu_sizes(visitor, cholesky.sizes, cholesky.deal);
    visit_narrowing(visitor, cholesky.narrowing);
    visitor.number("smallest_order", cholesky.smallest_order, Index{0}, order);
    visitor.number("update_rate", cholesky.update_rate, 1e6, 1e18);
    visitor.number("solve_rate", cholesky.solve_rate, 1e6, 1e18);
    visitor.number("tile_height", cholesky.tile_height, Index{1}, extent);
    visitor.number("least_split_order", cholesky.least_split_order, Index{0}, order);
    visitor.number("least_split_depth", cholesky.least_split_depth, Index{1}, extent);
    visitor.number("least_split_side", cholesky.least_split_side, Index{1}, order);
    visitor.size("wide_panels_from", cholesky.wide_panels_from);
    visitor.number("wide_panel", cholesky.wide_panel, Index{1}, extent);
    visitor.number("batched_below", cholesky.batched_below, Index{1}, order);
    visitor.group("leaf", [&leaf = cholesky.leaf](Visitor& v) {
        v.choice("columns", leaf.columns, cholesky_leaf_columns);
        v.choice("tile", leaf.tile, cholesky_leaf_tiles);
    });
    visitor.number("fused_order", cholesky.fused_order, Index{0}, extent);
    visitor.number("fused_wide_from", cholesky.fused_wide_from, Index{0}, order);
    visitor.number("multiplications_during_panel", cholesky.multiplications_during_panel, 0.0, 1e30);
}

/// The numbers of a GpuTuning.
template <class Visitor, class Entry>
void visit_gpu_tuning(Visitor& visitor, Entry& entry) {
    using namespace tuning_limits;
    visitor.number("blas_workspace_bytes", entry.blas_workspace_bytes, std::size_t{0}, bytes);
    visitor.number("launch_seconds", entry.launch_seconds, 0.0, 1.0);
    visitor.list("panels", entry.panels, ListLength::any, [](Visitor& v, auto& panel) {
        v.size("up_to", panel.up_to);
        v.design("design", panel.design);
        v.number("blocks", panel.blocks, 0, 1024);
        v.number("leaf_width", panel.leaf_width, 0, 1024);
        v.number("tallest_leaf", panel.tallest_leaf, Index{0}, order);
        v.number("rows_a_block", panel.rows_a_block, Index{1}, extent);
    });
    visitor.group("fitting", [&fitting = entry.fitting](Visitor& v) {
        v.number("fewest", fitting.fewest, Index{1}, extent);
        v.number("enough", fitting.enough, Index{1}, extent);
        v.number("narrowest_tile", fitting.narrowest_tile, Index{1}, extent);
    });
    visitor.group("links", [&links = entry.links](Visitor& v) { visit_gpu_links(v, links); });
    visitor.group("conversion", [&conversion = entry.conversion](Visitor& v) {
        v.number("parts", conversion.parts, Index{1}, order);
        v.number("least_bytes", conversion.least_bytes, std::size_t{0}, bytes);
    });
    visitor.group("lu", [&lu = entry.lu](Visitor& v) { visit_gpu_lu(v, lu); });
    visitor.group("cholesky", [&cholesky = entry.cholesky](Visitor& v) { visit_gpu_cholesky(v, cholesky); });
    visitor.group("qr", [&qr = entry.qr](Visitor& v) {
        visit_gpu_sizes(v, qr.sizes, qr.deal);
        visit_narrowing(v, qr.narrowing);
        visit_splitting(v, qr.splitting);
        v.number("least_work", qr.least_work, 0.0, 1e30);
        v.number("update_rate", qr.update_rate, 1e6, 1e18);
        v.number("wide_leaves_from", qr.wide_leaves_from, 2 * gpu_panel, order);
    });
    visitor.group("batch", [&batch = entry.batch](Visitor& v) {
        visit_batch_widths(v, "single_precision", batch.single_precision);
        visit_batch_widths(v, "double_precision", batch.double_precision);
    });
}

}  // namespace basalt
