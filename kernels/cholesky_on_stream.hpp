#pragma once

#include <type_traits>

#include <basalt/device.hpp>

#include "kernels/cpu/cholesky_panel.hpp"
#include "kernels/cpu/copy.hpp"
#include "kernels/cpu/triangle_copy.hpp"
#include "kernels/cuda/cholesky.hpp"
#include "kernels/cuda/copy.hpp"
#include "kernels/cuda/triangle_copy.hpp"

/// Kernels of Cholesky on whatever device a stream belongs to: the cuda kernel on a GPU, its CPU twin on an emulated
/// device. Their declarations in kernels/cuda/cholesky.hpp and triangle_copy.hpp say what they do.
namespace basalt::on_stream {

template <class T>
void cholesky_panel(Stream stream, View<T> panel, cuda_kernels::CholeskyPanelPlan plan, Index* info, void* workspace) {
    if (stream.context()->emulated) return cpu_kernels::cholesky_panel<T>(panel, info);
    cuda_kernels::cholesky_panel<T>(stream, panel, plan, info, workspace);
}

template <class T>
void subtract_transposed_products(Stream stream, Index count, std::type_identity_t<Strided<const T>> a,
                                  std::type_identity_t<Strided<const T>> b, Strided<T> c) {
    if (stream.context()->emulated) return cpu_kernels::subtract_transposed_products<T>(count, a, b, c);
    cuda_kernels::subtract_transposed_products<T>(stream, count, a, b, c);
}

template <class T>
void save_above_diagonal(Stream stream, std::type_identity_t<View<const T>> a, View<T> saved) {
    if (stream.context()->emulated) return cpu_kernels::save_above_diagonal<T>(a, saved);
    cuda_kernels::save_above_diagonal<T>(stream, a, saved);
}

template <class T>
void restore_above_diagonal(Stream stream, std::type_identity_t<View<const T>> saved, View<T> a) {
    if (stream.context()->emulated) return cpu_kernels::restore_above_diagonal<T>(saved, a);
    cuda_kernels::restore_above_diagonal<T>(stream, saved, a);
}

template <class T>
void copy_triangle(Stream stream, Triangle triangle, Index offset, std::type_identity_t<View<const T>> source,
                   View<T> target) {
    if (stream.context()->emulated) return cpu_kernels::copy_triangle<T>(triangle, offset, source, target);
    cuda_kernels::copy_triangle<T>(stream, triangle, offset, source, target);
}

/// target(i, j) = source(i, j) where each may be row-major or column-major: of equal shape, apart.
template <class T>
void copy_window(Stream stream, std::type_identity_t<View<const T>> source, View<T> target) {
    if (source.col_stride() != 1 || target.col_stride() != 1) {
        const Index everything = -source.rows() - source.cols();
        return copy_triangle<T>(stream, Triangle::lower, everything, source, target);
    }
    if (stream.context()->emulated) return cpu_kernels::copy_elements<T>(source, target);
    cuda_kernels::copy_elements<T>(stream, source, target);
}

}  // namespace basalt::on_stream
