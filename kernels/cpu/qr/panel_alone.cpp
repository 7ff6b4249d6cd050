#include <algorithm>
#include <vector>

#include "kernels/cpu/blas/blas.hpp"
#include "kernels/cpu/blas/serial.hpp"
#include "kernels/cpu/qr/block_reflector.hpp"
#include "kernels/cpu/qr/panel.hpp"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/products.hpp"
#include "kernels/on_stream/qr.hpp"
#include "kernels/triangle.hpp"
#include "tiles/copy.hpp"

namespace basalt::on_stream {

/// The gang panel (kernels/cpu/qr/panel.hpp) with a gang of one.
template <class T>
void run_on_cpu(QrPanelFactor<T>, View<T> panel, View<T> r, View<T> t, Index, void*) {
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

void reflect_by_slices(View<const float> v, View<const float> t, TileColumns<float> c) {
    const BlasSerial serial;
    const Index k = v.cols();
    std::vector<float> memory(static_cast<std::size_t>(2 * k * c.columns * c.width));
    const auto w = dense_tile_columns(memory.data(), c.columns, k, c.width),
               x = dense_tile_columns(memory.data() + k * c.columns * c.width, c.columns, k, c.width);
    update_by_slices.on_cpu(transposed(v), c, w, ProductPrecision::split_bf16, nullptr, {});
    for (Index j = 0; j < c.columns; ++j) blas::gemm<float>(-1, transposed(t), w.column(j), 0, x.column(j));
    update_by_slices.on_cpu(v, x, c, ProductPrecision::split_bf16, nullptr, {});
}

}  // namespace

template <class T>
void run_on_cpu(ReflectColumns<T>, View<const T> v, View<const T> t, TileColumns<T> c, T*, Multiplication products) {
    const Index k = v.cols();
    if (c.empty() || k == 0) return;
    if constexpr (std::is_same_v<T, float>) {
        if (products == Multiplication::by_slices) return reflect_by_slices(v, t, c);
    }
    std::vector<T> memory(static_cast<std::size_t>(v.size()));
    const auto vt = View<T>::row_major(memory.data(), k, v.rows(), v.rows());
    basalt::copy_elements<T>(transposed(v), vt);
    const bool plain = t.col_stride() != 1;
    for (Index j = 0; j < c.columns; ++j) {
        apply_block_reflector<T>(plain ? Reflection::plain : Reflection::transposed, vt, v.block(k, 0, v.rows() - k, k),
                                 plain ? transposed(t) : t, c.column(j));
    }
}

template <class T>
void run_on_cpu(ExplicitReflectors<T>, View<const T> a, View<T> v) {
    basalt::explicit_reflectors<T>(a, v);
}

template <class T>
void run_on_cpu(StoreReflectors<T>, View<const T> v, View<const T> r, View<T> a) {
    for (Index i = 0; i < a.rows(); ++i) {
        for (Index j = 0; j < a.cols(); ++j) a(i, j) = i <= j ? r(i, j) : v(i, j);
    }
}

template <class T>
void run_on_cpu(GramMatrix<T>, View<const T> v, View<T> gram, T*) {
    const BlasSerial serial;
    blas::gemm<T>(T{1}, transposed(v), v, T{0}, gram);
}

template <>
const QrPanelFactor<float>::Cpu Code<QrPanelFactor<float>>::cpu = cpu_code<QrPanelFactor<float>>;
template <>
const QrPanelFactor<double>::Cpu Code<QrPanelFactor<double>>::cpu = cpu_code<QrPanelFactor<double>>;
template <>
const ReflectColumns<float>::Cpu Code<ReflectColumns<float>>::cpu = cpu_code<ReflectColumns<float>>;
template <>
const ReflectColumns<double>::Cpu Code<ReflectColumns<double>>::cpu = cpu_code<ReflectColumns<double>>;
template <>
const StoreReflectors<float>::Cpu Code<StoreReflectors<float>>::cpu = cpu_code<StoreReflectors<float>>;
template <>
const StoreReflectors<double>::Cpu Code<StoreReflectors<double>>::cpu = cpu_code<StoreReflectors<double>>;
template <>
const ExplicitReflectors<float>::Cpu Code<ExplicitReflectors<float>>::cpu = cpu_code<ExplicitReflectors<float>>;
template <>
const ExplicitReflectors<double>::Cpu Code<ExplicitReflectors<double>>::cpu = cpu_code<ExplicitReflectors<double>>;
template <>
const GramMatrix<float>::Cpu Code<GramMatrix<float>>::cpu = cpu_code<GramMatrix<float>>;
template <>
const GramMatrix<double>::Cpu Code<GramMatrix<double>>::cpu = cpu_code<GramMatrix<double>>;

}  // namespace basalt::on_stream
