#include "kernels/cpu/qr_panel_alone.hpp"

#include <algorithm>
#include <vector>

#include "kernels/cpu/blas.hpp"
#include "kernels/cpu/blas_serial.hpp"
#include "kernels/cpu/block_reflector.hpp"
#include "kernels/cpu/qr_panel.hpp"
#include "kernels/cpu/split_product.hpp"
#include "kernels/triangle.hpp"
#include "tiles/copy.hpp"

namespace basalt::cpu_kernels {

template <class T>
void qr_panel_factor(View<T> panel, std::type_identity_t<View<T>> r, std::type_identity_t<View<T>> t) {
    TeamBarrier barrier(1);
    const Team team(0, barrier);
    QrPanelWorkspace<T> workspace(1, panel.cols());
    std::vector<T> memory(static_cast<std::size_t>(panel.size()));
    const auto v = View<T>::column_major(memory.data(), panel.rows(), panel.cols(), std::max<Index>(1, panel.rows()));
    qr_panel_load<T>(team, panel, v);
    basalt::qr_panel_factor<T>(team, v, r, t, workspace);
    qr_panel_store_explicit<T>(team, v, panel);
}

namespace {

void reflect_by_pieces(View<const float> v, View<const float> t, TileColumns<float> c) {
    const BlasSerial serial;
    const Index k = v.cols();
    std::vector<float> memory(static_cast<std::size_t>(2 * k * c.columns * c.width));
    const auto w = dense_tile_columns(memory.data(), c.columns, k, c.width),
               x = dense_tile_columns(memory.data() + k * c.columns * c.width, c.columns, k, c.width);
    update_by_pieces(transposed(v), c, w);
    for (Index j = 0; j < c.columns; ++j) blas::gemm<float>(-1, transposed(t), w.column(j), 0, x.column(j));
    update_by_pieces(v, x, c);
}

}  // namespace

template <class T>
void reflect_columns(std::type_identity_t<View<const T>> v, std::type_identity_t<View<const T>> t, TileColumns<T> c,
                     bool by_pieces) {
    const Index k = v.cols();
    if (c.empty() || k == 0) return;
    if constexpr (std::is_same_v<T, float>) {
        if (by_pieces) return reflect_by_pieces(v, t, c);
    }
    std::vector<T> memory(static_cast<std::size_t>(v.size()));
    const auto vt = View<T>::row_major(memory.data(), k, v.rows(), v.rows());
    copy_elements<T>(transposed(v), vt);
    const bool plain = t.col_stride() != 1;
    for (Index j = 0; j < c.columns; ++j) {
        apply_block_reflector<T>(plain ? Reflection::plain : Reflection::transposed, vt, v.block(k, 0, v.rows() - k, k),
                                 plain ? transposed(t) : t, c.column(j));
    }
}

template <class T>
void store_reflectors(std::type_identity_t<View<const T>> v, std::type_identity_t<View<const T>> r, View<T> a) {
    for (Index i = 0; i < a.rows(); ++i) {
        for (Index j = 0; j < a.cols(); ++j) a(i, j) = i <= j ? r(i, j) : v(i, j);
    }
}

template void qr_panel_factor<float>(View<float>, View<float>, View<float>);
template void qr_panel_factor<double>(View<double>, View<double>, View<double>);
template void reflect_columns<float>(View<const float>, View<const float>, TileColumns<float>, bool);
template void reflect_columns<double>(View<const double>, View<const double>, TileColumns<double>, bool);
template void store_reflectors<float>(View<const float>, View<const float>, View<float>);
template void store_reflectors<double>(View<const double>, View<const double>, View<double>);

}  // namespace basalt::cpu_kernels
