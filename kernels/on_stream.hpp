#pragma once

#include <type_traits>

#include <basalt/device.hpp>

#include "kernels/cpu/block_reflector.hpp"
#include "kernels/cpu/convert.hpp"
#include "kernels/cpu/copy.hpp"
#include "kernels/cpu/generate.hpp"
#include "kernels/cpu/leading_update.hpp"
#include "kernels/cpu/norms.hpp"
#include "kernels/cpu/panel_alone.hpp"
#include "kernels/cpu/qr_panel_alone.hpp"
#include "kernels/cpu/row_exchange.hpp"
#include "kernels/cpu/split_product.hpp"
#include "kernels/cpu/triangle_inverse.hpp"
#include "kernels/cpu/triangle_solve.hpp"
#include "kernels/cpu/update.hpp"
#include "kernels/cpu/vector_product.hpp"
#include "kernels/cuda/block_reflector.hpp"
#include "kernels/cuda/convert.hpp"
#include "kernels/cuda/copy.hpp"
#include "kernels/cuda/generate.hpp"
#include "kernels/cuda/leading_update.hpp"
#include "kernels/cuda/norms.hpp"
#include "kernels/cuda/panel.hpp"
#include "kernels/cuda/panel_plan.hpp"
#include "kernels/cuda/qr_panel.hpp"
#include "kernels/cuda/row_exchange.hpp"
#include "kernels/cuda/split_product.hpp"
#include "kernels/cuda/triangle_inverse.hpp"
#include "kernels/cuda/triangle_solve.hpp"
#include "kernels/cuda/update.hpp"
#include "kernels/cuda/vector_product.hpp"

/// Kernels on whatever device a stream belongs to: the cuda kernel on a GPU, its CPU twin on an emulated
/// device. Their declarations in kernels/cuda say what they do.
namespace basalt::on_stream {

inline bool emulated(Stream stream) { return stream.context()->emulated; }

template <class T>
void copy_elements(Stream stream, std::type_identity_t<View<const T>> source, View<T> target) {
    if (emulated(stream)) return cpu_kernels::copy_elements<T>(source, target);
    cuda_kernels::copy_elements<T>(stream, source, target);
}

template <class T>
void copy_tile_columns(Stream stream, std::type_identity_t<TileColumns<const T>> source, TileColumns<T> target) {
    if (emulated(stream)) return cpu_kernels::copy_tile_columns<T>(source, target);
    cuda_kernels::copy_tile_columns<T>(stream, source, target);
}

template <class T>
void pack_tile_columns(Stream stream, const TileGrid& grid, TileDeal deal, std::type_identity_t<View<const T>> source,
                       TileColumns<T> target) {
    if (emulated(stream)) return cpu_kernels::pack_tile_columns<T>(grid, deal, source, target);
    cuda_kernels::pack_tile_columns<T>(stream, grid, deal, source, target);
}

template <class T>
void unpack_tile_columns(Stream stream, const TileGrid& grid, TileDeal deal,
                         std::type_identity_t<TileColumns<const T>> source, View<T> target) {
    if (emulated(stream)) return cpu_kernels::unpack_tile_columns<T>(grid, deal, source, target);
    cuda_kernels::unpack_tile_columns<T>(stream, grid, deal, source, target);
}

template <class T>
void pack_columns(Stream stream, const TileGrid& grid, Index j, Index first, std::type_identity_t<View<const T>> source,
                  View<T> target) {
    if (emulated(stream)) return cpu_kernels::pack_columns<T>(grid, j, first, source, target);
    cuda_kernels::pack_columns<T>(stream, grid, j, first, source, target);
}

template <class T>
void unpack_window(Stream stream, std::type_identity_t<View<const T>> source, View<T> target) {
    if (emulated(stream)) return cpu_kernels::unpack_window<T>(source, target);
    cuda_kernels::unpack_window<T>(stream, source, target);
}

template <class T>
void pack_in_place(Stream stream, const TileGrid& grid, T* memory, T* buffer) {
    if (emulated(stream)) return cpu_kernels::pack_in_place<T>(grid, memory, buffer);
    cuda_kernels::pack_in_place<T>(stream, grid, memory, buffer);
}

template <class T>
void unpack_in_place(Stream stream, const TileGrid& grid, T* memory, T* buffer) {
    if (emulated(stream)) return cpu_kernels::unpack_in_place<T>(grid, memory, buffer);
    cuda_kernels::unpack_in_place<T>(stream, grid, memory, buffer);
}

template <class T>
void reorder_tiles(Stream stream, TileShape shape, ElementOrder order,
                   std::type_identity_t<TileColumns<const T>> source, TileColumns<T> target) {
    if (emulated(stream)) return cpu_kernels::reorder_tiles<T>(shape, order, source, target);
    cuda_kernels::reorder_tiles<T>(stream, shape, order, source, target);
}

template <class T>
void generate_tile_columns(Stream stream, const GeneratorSpec& generator, const TileGrid& grid, TileDeal deal,
                           TileColumns<T> target) {
    if (emulated(stream)) return cpu_kernels::generate_tile_columns<T>(generator, grid, deal, target);
    cuda_kernels::generate_tile_columns<T>(stream, generator, grid, deal, target);
}

template <class T>
void max_norm(Stream stream, const TileGrid& grid, TileDeal deal, TileColumns<const T> a, double* result) {
    if (emulated(stream)) return cpu_kernels::max_norm<T>(grid, deal, a, result);
    cuda_kernels::max_norm<T>(stream, grid, deal, a, result);
}

template <class T>
void absolute_column_sums(Stream stream, const TileGrid& grid, TileDeal deal, TileColumns<const T> a, double* sums,
                          double* workspace) {
    if (emulated(stream)) return cpu_kernels::absolute_column_sums<T>(grid, deal, a, sums, workspace);
    cuda_kernels::absolute_column_sums<T>(stream, grid, deal, a, sums, workspace);
}

template <class T>
void absolute_row_sums(Stream stream, const TileGrid& grid, TileDeal deal, TileColumns<const T> a, double* sums) {
    if (emulated(stream)) return cpu_kernels::absolute_row_sums<T>(grid, deal, a, sums);
    cuda_kernels::absolute_row_sums<T>(stream, grid, deal, a, sums);
}

template <class T>
void square_sums(Stream stream, const TileGrid& grid, TileDeal deal, TileColumns<const T> a, blue::Sums* sums,
                 double* workspace) {
    if (emulated(stream)) return cpu_kernels::square_sums<T>(grid, deal, a, sums, workspace);
    cuda_kernels::square_sums<T>(stream, grid, deal, a, sums, workspace);
}

inline void largest(Stream stream, const double* values, Index count, double* result) {
    if (emulated(stream)) return cpu_kernels::largest(values, count, result);
    cuda_kernels::largest(stream, values, count, result);
}

inline void find_row_moves(Stream stream, const Index* pivots, RowMoves moves) {
    if (emulated(stream)) return cpu_kernels::find_row_moves(pivots, moves);
    cuda_kernels::find_row_moves(stream, pivots, moves);
}

template <class T>
void exchange_rows(Stream stream, RowMoves moves, TileColumns<T> a, std::type_identity_t<TileColumns<T>> w) {
    if (emulated(stream)) return cpu_kernels::exchange_rows<T>(moves, a, w);
    cuda_kernels::exchange_rows<T>(stream, moves, a, w);
}

/// Emulated devices take the same shapes as GPUs, though their twin could take all.
template <class T>
bool leading_update_fits(Stream stream, std::type_identity_t<View<const T>> l, View<T> a) {
    if (emulated(stream)) return cuda_kernels::leading_shape_fits<T>(l, a);
    return cuda_kernels::leading_update_fits<T>(stream.device(), l, a);
}

template <class T>
void update_leading(Stream stream, std::type_identity_t<View<const T>> l, RowMoves moves, View<T> a) {
    if (emulated(stream)) return cpu_kernels::update_leading<T>(l, moves, a);
    cuda_kernels::update_leading<T>(stream, l, moves, a);
}

template <class T>
void invert_unit_lower(Stream stream, std::type_identity_t<View<const T>> l, View<T> inverse, double* norms) {
    if (emulated(stream)) return cpu_kernels::invert_unit_lower<T>(l, inverse, norms);
    cuda_kernels::invert_unit_lower<T>(stream, l, inverse, norms);
}

template <class T>
void solve_by_inverse(Stream stream, std::type_identity_t<View<const T>> x,
                      std::type_identity_t<TileColumns<const T>> w, TileColumns<T> u) {
    if (emulated(stream)) return cpu_kernels::solve_by_inverse<T>(x, w, u);
    cuda_kernels::solve_by_inverse<T>(stream, x, w, u);
}

template <class T>
void solve_by_inverses(Stream stream, std::type_identity_t<View<const T>> l, std::type_identity_t<View<const T>> x,
                       std::type_identity_t<TileColumns<const T>> w, TileColumns<T> u) {
    if (emulated(stream)) return cpu_kernels::solve_by_inverses<T>(l, x, w, u);
    cuda_kernels::solve_by_inverses<T>(stream, l, x, w, u);
}

template <class T>
void solve_by_substitution(Stream stream, std::type_identity_t<View<const T>> l,
                           std::type_identity_t<TileColumns<const T>> w, TileColumns<T> u) {
    if (emulated(stream)) return cpu_kernels::solve_by_substitution<T>(l, w, u);
    cuda_kernels::solve_by_substitution<T>(stream, l, w, u);
}

template <class T>
void update_trailing(Stream stream, std::type_identity_t<View<const T>> l, std::type_identity_t<TileColumns<const T>> u,
                     TileColumns<T> c, ProductPrecision precision = ProductPrecision::full) {
    if (emulated(stream)) return cpu_kernels::update_trailing<T>(l, u, c, precision);
    cuda_kernels::update_trailing<T>(stream, l, u, c, precision);
}

template <class T, class V>
void subtract_product(Stream stream, std::type_identity_t<View<const T>> a, MatrixPart part, Index diagonal,
                      std::type_identity_t<View<const V>> x, View<V> y) {
    if (emulated(stream)) return cpu_kernels::subtract_product<T, V>(a, part, diagonal, x, y);
    cuda_kernels::subtract_product<T, V>(stream, a, part, diagonal, x, y);
}

template <class T>
void solve_triangle(Stream stream, Triangle triangle, Diagonal diagonal, std::type_identity_t<View<const T>> t,
                    View<T> x) {
    if (emulated(stream)) return cpu_kernels::solve_triangle<T>(triangle, diagonal, t, x);
    cuda_kernels::solve_triangle<T>(stream, triangle, diagonal, t, x);
}

template <class T>
void subtract_from_rows(Stream stream, std::type_identity_t<View<const T>> a, std::type_identity_t<View<const T>> x,
                        View<T> y) {
    if (emulated(stream)) return cpu_kernels::subtract_from_rows<T>(a, x, y);
    cuda_kernels::subtract_from_rows<T>(stream, a, x, y);
}

inline void update_by_pieces(Stream stream, View<const float> l, TileColumns<const float> u, TileColumns<float> c,
                             void* workspace) {
    if (emulated(stream)) return cpu_kernels::update_by_pieces(l, u, c);
    cuda_kernels::update_by_pieces(stream, l, u, c, workspace);
}

template <class T>
void panel_factor(Stream stream, View<T> panel, Index* pivots, Index* info, void* workspace,
                  cuda_kernels::PanelPlan plan, PanelLog log = {}, RowMoves moves = {}) {
    if (emulated(stream)) return cpu_kernels::panel_factor<T>(panel, pivots, info, log, moves);
    cuda_kernels::panel_factor<T>(stream, panel, pivots, info, workspace, plan, log, moves);
}

/// By panel_plan() with these entries of the GPU's tuning table.
template <class T>
void panel_factor(Stream stream, View<T> panel, Index* pivots, Index* info, void* workspace,
                  const std::vector<GpuTuning::Panel>& entries, PanelLog log = {}, RowMoves moves = {}) {
    if (emulated(stream)) return cpu_kernels::panel_factor<T>(panel, pivots, info, log, moves);
    const auto plan = cuda_kernels::panel_plan<T>(stream.device(), panel.rows(), entries);
    cuda_kernels::panel_factor<T>(stream, panel, pivots, info, workspace, plan, log, moves);
}

/// With the plan that the library chooses.
template <class T>
void panel_factor(Stream stream, View<T> panel, Index* pivots, Index* info, void* workspace, PanelLog log = {}) {
    if (emulated(stream)) return cpu_kernels::panel_factor<T>(panel, pivots, info, log);
    cuda_kernels::panel_factor<T>(stream, panel, pivots, info, workspace, log);
}

template <class T>
void qr_panel_factor(Stream stream, View<T> panel, std::type_identity_t<View<T>> r, std::type_identity_t<View<T>> t,
                     Index wide_leaves_from, void* workspace) {
    if (emulated(stream)) return cpu_kernels::qr_panel_factor<T>(panel, r, t);
    cuda_kernels::qr_panel_factor<T>(stream, panel, r, t, wide_leaves_from, workspace);
}

template <class T>
void reflect_columns(Stream stream, std::type_identity_t<View<const T>> v, std::type_identity_t<View<const T>> t,
                     TileColumns<T> c, T* workspace, bool by_pieces) {
    if (emulated(stream)) return cpu_kernels::reflect_columns<T>(v, t, c, by_pieces);
    cuda_kernels::reflect_columns<T>(stream, v, t, c, workspace, by_pieces);
}

template <class T>
void explicit_reflectors(Stream stream, std::type_identity_t<View<const T>> a, View<T> v) {
    if (emulated(stream)) return basalt::explicit_reflectors<T>(a, v);
    cuda_kernels::explicit_reflectors<T>(stream, a, v);
}

template <class T>
void store_reflectors(Stream stream, std::type_identity_t<View<const T>> v, std::type_identity_t<View<const T>> r,
                      View<T> a) {
    if (emulated(stream)) return cpu_kernels::store_reflectors<T>(v, r, a);
    cuda_kernels::store_reflectors<T>(stream, v, r, a);
}

}  // namespace basalt::on_stream
