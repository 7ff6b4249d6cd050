#pragma once

#include <basalt/device.hpp>

#include "kernels/split_product.hpp"
#include "tiles/tile_columns.hpp"

namespace basalt::cuda_kernels {

/// C_j -= L U_j as update_trailing<float>(), by pieces (kernels/split_product.hpp); L may be the transpose of a
/// row-major matrix as well. `workspace`: 256 bytes aligned, of split_workspace(l.rows(), min(l.cols(), split_depth),
/// u.columns * u.width) bytes. All in the device's memory; enqueued on the stream, with its cuBLAS handle; DeviceError
/// where that fails. Fast where k and the width are multiples of 8. CPU twin: kernels/cpu/split_product.hpp.
void update_by_pieces(Stream stream, View<const float> l, TileColumns<const float> u, TileColumns<float> c,
                      void* workspace);

/// C -= A B^T as subtract_transposed_products<float>(), by pieces: A m x k, B n x k, C m x n, row-major. `workspace`:
/// 256 bytes aligned, of split_workspace(m, k, n).
void subtract_transposed_product_by_pieces(Stream stream, View<const float> a, View<const float> b, View<float> c,
                                           void* workspace);

}  // namespace basalt::cuda_kernels
