// Built instead of the kernels where CUDA was not found, so that tasks link. Nothing calls them: there is no
// device then whose stream they could be given.
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

#include <basalt/error.hpp>

namespace basalt::cuda_kernels {

namespace {

[[noreturn]] void refuse() {
    throw DeviceError("this build has no GPU kernels: CUDA was not found when it was configured", -1, false);
}

}  // namespace

void find_row_moves(Stream, const Index*, RowMoves) { refuse(); }
void largest(Stream, const double*, Index, double*) { refuse(); }
template <class T>
bool leading_update_fits(int, std::type_identity_t<View<const T>>, View<T>) {
    refuse();
}
template <class T>
void update_leading(Stream, std::type_identity_t<View<const T>>, RowMoves, View<T>) {
    refuse();
}
template <class T>
void pack_tile_columns(Stream, const TileGrid&, TileDeal, std::type_identity_t<View<const T>>, TileColumns<T>) {
    refuse();
}
template <class T>
void unpack_tile_columns(Stream, const TileGrid&, TileDeal, std::type_identity_t<TileColumns<const T>>, View<T>) {
    refuse();
}
template <class T>
void pack_columns(Stream, const TileGrid&, Index, Index, std::type_identity_t<View<const T>>, View<T>) {
    refuse();
}
template <class T>
void unpack_window(Stream, std::type_identity_t<View<const T>>, View<T>) {
    refuse();
}
template <class T>
void pack_in_place(Stream, const TileGrid&, T*, T*) {
    refuse();
}
template <class T>
void unpack_in_place(Stream, const TileGrid&, T*, T*) {
    refuse();
}
template <class T>
void reorder_tiles(Stream, TileShape, ElementOrder, std::type_identity_t<TileColumns<const T>>, TileColumns<T>) {
    refuse();
}
template <class T>
void copy_elements(Stream, std::type_identity_t<View<const T>>, View<T>) {
    refuse();
}
template <class T>
void copy_tile_columns(Stream, std::type_identity_t<TileColumns<const T>>, TileColumns<T>) {
    refuse();
}
template <class T>
void generate_tile_columns(Stream, const GeneratorSpec&, const TileGrid&, TileDeal, TileColumns<T>) {
    refuse();
}
template <class T>
void max_norm(Stream, const TileGrid&, TileDeal, TileColumns<const T>, double*) {
    refuse();
}
template <class T>
void absolute_column_sums(Stream, const TileGrid&, TileDeal, TileColumns<const T>, double*, double*) {
    refuse();
}
template <class T>
void absolute_row_sums(Stream, const TileGrid&, TileDeal, TileColumns<const T>, double*) {
    refuse();
}
template <class T>
void square_sums(Stream, const TileGrid&, TileDeal, TileColumns<const T>, blue::Sums*, double*) {
    refuse();
}
template <class T>
void exchange_rows(Stream, RowMoves, TileColumns<T>, std::type_identity_t<TileColumns<T>>) {
    refuse();
}
template <class T>
void invert_unit_lower(Stream, std::type_identity_t<View<const T>>, View<T>, double*) {
    refuse();
}
template <class T>
void solve_by_inverse(Stream, std::type_identity_t<View<const T>>, std::type_identity_t<TileColumns<const T>>,
                      TileColumns<T>) {
    refuse();
}
template <class T>
void solve_by_inverses(Stream, std::type_identity_t<View<const T>>, std::type_identity_t<View<const T>>,
                       std::type_identity_t<TileColumns<const T>>, TileColumns<T>) {
    refuse();
}
template <class T>
void solve_by_substitution(Stream, std::type_identity_t<View<const T>>, std::type_identity_t<TileColumns<const T>>,
                           TileColumns<T>) {
    refuse();
}
void subtract_transposed_product_by_pieces(Stream, View<const float>, View<const float>, View<float>, void*) {
    refuse();
}
void update_by_pieces(Stream, View<const float>, TileColumns<const float>, TileColumns<float>, void*) { refuse(); }
template <class T>
void update_trailing(Stream, std::type_identity_t<View<const T>>, std::type_identity_t<TileColumns<const T>>,
                     TileColumns<T>, ProductPrecision) {
    refuse();
}
template <class T>
PanelPlan panel_plan(int, Index, const std::vector<GpuTuning::Panel>&) {
    refuse();
}
template <class T>
PanelPlan panel_plan(int, Index) {
    return {};
}
template <class T>
bool panel_fits(int, Index, PanelPlan) {
    return false;
}
std::size_t panel_workspace(Index, Index) {
    return 0;  // the CPU panel, which emulated devices run, has its own
}
template <class T>
int panel_log_blocks(int, Index, const std::vector<GpuTuning::Panel>&) {
    return 0;
}
template <class T>
void panel_factor(Stream, View<T>, Index*, Index*, void*, PanelPlan, PanelLog, RowMoves) {
    refuse();
}
template <class T>
void panel_factor(Stream, View<T>, Index*, Index*, void*, PanelLog) {
    refuse();
}

template <class T>
std::size_t qr_panel_workspace(Index, Index, Index, int) {
    return 0;  // as above
}
template <class T>
void qr_panel_factor(Stream, View<T>, std::type_identity_t<View<T>>, std::type_identity_t<View<T>>, Index, void*) {
    refuse();
}
Index reflect_columns_workspace(Index, Index, Index, int, bool) { return 0; }
template <class T>
void reflect_columns(Stream, std::type_identity_t<View<const T>>, std::type_identity_t<View<const T>>, TileColumns<T>,
                     T*, bool) {
    refuse();
}
template <class T>
void explicit_reflectors(Stream, std::type_identity_t<View<const T>>, View<T>) {
    refuse();
}
template <class T>
void store_reflectors(Stream, std::type_identity_t<View<const T>>, std::type_identity_t<View<const T>>, View<T>) {
    refuse();
}
template <class T, class V>
void subtract_product(Stream, std::type_identity_t<View<const T>>, MatrixPart, Index,
                      std::type_identity_t<View<const V>>, View<V>) {
    refuse();
}
template <class T>
void solve_triangle(Stream, Triangle, Diagonal, std::type_identity_t<View<const T>>, View<T>) {
    refuse();
}
template <class T>
void subtract_from_rows(Stream, std::type_identity_t<View<const T>>, std::type_identity_t<View<const T>>, View<T>) {
    refuse();
}

template void pack_tile_columns<float>(Stream, const TileGrid&, TileDeal, View<const float>, TileColumns<float>);
template void pack_tile_columns<double>(Stream, const TileGrid&, TileDeal, View<const double>, TileColumns<double>);
template void unpack_tile_columns<float>(Stream, const TileGrid&, TileDeal, TileColumns<const float>, View<float>);
template void unpack_tile_columns<double>(Stream, const TileGrid&, TileDeal, TileColumns<const double>, View<double>);
template void pack_columns<float>(Stream, const TileGrid&, Index, Index, View<const float>, View<float>);
template void pack_columns<double>(Stream, const TileGrid&, Index, Index, View<const double>, View<double>);
template void unpack_window<float>(Stream, View<const float>, View<float>);
template void unpack_window<double>(Stream, View<const double>, View<double>);
template void pack_in_place<float>(Stream, const TileGrid&, float*, float*);
template void pack_in_place<double>(Stream, const TileGrid&, double*, double*);
template void unpack_in_place<float>(Stream, const TileGrid&, float*, float*);
template void unpack_in_place<double>(Stream, const TileGrid&, double*, double*);
template void reorder_tiles<float>(Stream, TileShape, ElementOrder, TileColumns<const float>, TileColumns<float>);
template void reorder_tiles<double>(Stream, TileShape, ElementOrder, TileColumns<const double>, TileColumns<double>);
template void copy_elements<float>(Stream, View<const float>, View<float>);
template void copy_elements<double>(Stream, View<const double>, View<double>);
template void copy_tile_columns<float>(Stream, TileColumns<const float>, TileColumns<float>);
template void copy_tile_columns<double>(Stream, TileColumns<const double>, TileColumns<double>);
template void generate_tile_columns<float>(Stream, const GeneratorSpec&, const TileGrid&, TileDeal, TileColumns<float>);
template void generate_tile_columns<double>(Stream, const GeneratorSpec&, const TileGrid&, TileDeal,
                                            TileColumns<double>);
template void max_norm<float>(Stream, const TileGrid&, TileDeal, TileColumns<const float>, double*);
template void max_norm<double>(Stream, const TileGrid&, TileDeal, TileColumns<const double>, double*);
template void absolute_column_sums<float>(Stream, const TileGrid&, TileDeal, TileColumns<const float>, double*,
                                          double*);
template void absolute_column_sums<double>(Stream, const TileGrid&, TileDeal, TileColumns<const double>, double*,
                                           double*);
template void absolute_row_sums<float>(Stream, const TileGrid&, TileDeal, TileColumns<const float>, double*);
template void absolute_row_sums<double>(Stream, const TileGrid&, TileDeal, TileColumns<const double>, double*);
template void square_sums<float>(Stream, const TileGrid&, TileDeal, TileColumns<const float>, blue::Sums*, double*);
template void square_sums<double>(Stream, const TileGrid&, TileDeal, TileColumns<const double>, blue::Sums*, double*);
template void exchange_rows<float>(Stream, RowMoves, TileColumns<float>, TileColumns<float>);
template void exchange_rows<double>(Stream, RowMoves, TileColumns<double>, TileColumns<double>);
template void invert_unit_lower<float>(Stream, View<const float>, View<float>, double*);
template void invert_unit_lower<double>(Stream, View<const double>, View<double>, double*);
template void solve_by_inverse<float>(Stream, View<const float>, TileColumns<const float>, TileColumns<float>);
template void solve_by_inverse<double>(Stream, View<const double>, TileColumns<const double>, TileColumns<double>);
template void solve_by_inverses<float>(Stream, View<const float>, View<const float>, TileColumns<const float>,
                                       TileColumns<float>);
template void solve_by_inverses<double>(Stream, View<const double>, View<const double>, TileColumns<const double>,
                                        TileColumns<double>);
template void solve_by_substitution<float>(Stream, View<const float>, TileColumns<const float>, TileColumns<float>);
template void solve_by_substitution<double>(Stream, View<const double>, TileColumns<const double>, TileColumns<double>);
template void update_trailing<float>(Stream, View<const float>, TileColumns<const float>, TileColumns<float>,
                                     ProductPrecision);
template void update_trailing<double>(Stream, View<const double>, TileColumns<const double>, TileColumns<double>,
                                      ProductPrecision);
template bool leading_update_fits<float>(int, View<const float>, View<float>);
template bool leading_update_fits<double>(int, View<const double>, View<double>);
template void update_leading<float>(Stream, View<const float>, RowMoves, View<float>);
template void update_leading<double>(Stream, View<const double>, RowMoves, View<double>);
template void subtract_product<float, float>(Stream, View<const float>, MatrixPart, Index, View<const float>,
                                             View<float>);
template void subtract_product<float, double>(Stream, View<const float>, MatrixPart, Index, View<const double>,
                                              View<double>);
template void subtract_product<double, double>(Stream, View<const double>, MatrixPart, Index, View<const double>,
                                               View<double>);
template void solve_triangle<float>(Stream, Triangle, Diagonal, View<const float>, View<float>);
template void solve_triangle<double>(Stream, Triangle, Diagonal, View<const double>, View<double>);
template void subtract_from_rows<float>(Stream, View<const float>, View<const float>, View<float>);
template void subtract_from_rows<double>(Stream, View<const double>, View<const double>, View<double>);
template PanelPlan panel_plan<float>(int, Index, const std::vector<GpuTuning::Panel>&);
template PanelPlan panel_plan<double>(int, Index, const std::vector<GpuTuning::Panel>&);
template PanelPlan panel_plan<float>(int, Index);
template PanelPlan panel_plan<double>(int, Index);
template bool panel_fits<float>(int, Index, PanelPlan);
template bool panel_fits<double>(int, Index, PanelPlan);
template int panel_log_blocks<float>(int, Index, const std::vector<GpuTuning::Panel>&);
template int panel_log_blocks<double>(int, Index, const std::vector<GpuTuning::Panel>&);
template void panel_factor<float>(Stream, View<float>, Index*, Index*, void*, PanelLog);
template void panel_factor<double>(Stream, View<double>, Index*, Index*, void*, PanelLog);
template void panel_factor<float>(Stream, View<float>, Index*, Index*, void*, PanelPlan, PanelLog, RowMoves);
template void panel_factor<double>(Stream, View<double>, Index*, Index*, void*, PanelPlan, PanelLog, RowMoves);

template std::size_t qr_panel_workspace<float>(Index, Index, Index, int);
template std::size_t qr_panel_workspace<double>(Index, Index, Index, int);
template void qr_panel_factor<float>(Stream, View<float>, View<float>, View<float>, Index, void*);
template void qr_panel_factor<double>(Stream, View<double>, View<double>, View<double>, Index, void*);
template void reflect_columns<float>(Stream, View<const float>, View<const float>, TileColumns<float>, float*, bool);
template void reflect_columns<double>(Stream, View<const double>, View<const double>, TileColumns<double>, double*,
                                      bool);
template void explicit_reflectors<float>(Stream, View<const float>, View<float>);
template void explicit_reflectors<double>(Stream, View<const double>, View<double>);
template void store_reflectors<float>(Stream, View<const float>, View<const float>, View<float>);
template void store_reflectors<double>(Stream, View<const double>, View<const double>, View<double>);

}  // namespace basalt::cuda_kernels
