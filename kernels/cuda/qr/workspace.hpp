#pragma once

#include <cstddef>

#include <basalt/view.hpp>

#include "kernels/on_stream/kernel.hpp"
#include "kernels/split_product.hpp"

namespace basalt::cuda_detail {

template <class T>
std::size_t qr_panel_workspace(Index rows, Index cols, Index wide_leaves_from, int multiprocessors);
Index reflect_columns_workspace(Index rows, Index k, Index columns, int multiprocessors, Multiplication products);
Index tall_product_workspace(Index a, Index b, int multiprocessors);

}  // namespace basalt::cuda_detail

/// Workspaces of the kernels of QR (kernels/on_stream/qr.hpp) on GPUs.
namespace basalt::cuda_kernels {

/// Bytes that qr_panel_factor() needs on a GPU with this number of multiprocessors.
template <class T>
std::size_t qr_panel_workspace(Index rows, Index cols, Index wide_leaves_from, int multiprocessors) {
    return on_stream::on_gpus_only(
        [=] { return cuda_detail::qr_panel_workspace<T>(rows, cols, wide_leaves_from, multiprocessors); });
}

/// Elements that reflect_columns() needs to apply k reflectors of `rows` rows to `columns` columns.
inline Index reflect_columns_workspace(Index rows, Index k, Index columns, int multiprocessors,
                                       Multiplication products = Multiplication::plain) {
    return on_stream::on_gpus_only(
        [=] { return cuda_detail::reflect_columns_workspace(rows, k, columns, multiprocessors, products); });
}

/// Elements that gram_matrix() needs for k columns.
inline Index gram_matrix_workspace(Index k, int multiprocessors) {
    return on_stream::on_gpus_only([=] { return cuda_detail::tall_product_workspace(k, k, multiprocessors); });
}

}  // namespace basalt::cuda_kernels
