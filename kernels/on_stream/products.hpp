#pragma once

#include <basalt/matrix_part.hpp>
#include <basalt/product_precision.hpp>

#include "kernels/on_stream/kernel.hpp"
#include "kernels/split_product.hpp"
#include "kernels/strided.hpp"
#include "tiles/tile_columns.hpp"

/// Products. All arguments lie in the device's memory. The same input gives the same bits.
namespace basalt::on_stream {

template <class T>
struct UpdateTrailing : Kernel<UpdateTrailing<T>, void(View<const T> l, TileColumns<const T> u, TileColumns<T> c,
                                                       ProductPrecision precision)> {};
/// C_j -= L U_j for all tile columns j: L is m x k, row-major, shared by all of them; C_j is m x width, U_j k x width.
/// One strided-batched GEMM. `precision` is plain or tf32, in which L and U are rounded first; plain for double.
template <class T>
inline constexpr UpdateTrailing<T> update_trailing{};

/// Multiprocessors that a product leaves to kernels of other streams, as far as it can: about the first `cols` columns
/// of C are multiplied without them. A product by tensor cores otherwise keeps all multiprocessors until it ends.
struct RoomForOthers {
    Index cols = 0;
    int multiprocessors = 0;
};

struct UpdateBySlices
    : Kernel<UpdateBySlices, void(View<const float> l, TileColumns<const float> u, TileColumns<float> c,
                                  ProductPrecision precision, void* workspace, RoomForOthers room)> {};
/// C_j -= L U_j as update_trailing<float>(), by slices (kernels/split_product.hpp); L may also be the transpose of
/// a row-major matrix. `workspace` is aligned to 256 bytes and holds split_workspace(l.rows(), min(l.cols(),
/// split_depth), u.columns * u.width) bytes. The CPU twin uses neither it nor `room`. Fast where k and the width are
/// multiples of 8.
inline constexpr UpdateBySlices update_by_slices{};

struct SubtractTransposedProductBySlices
    : Kernel<SubtractTransposedProductBySlices, void(View<const float> a, View<const float> b, View<float> c,
                                                     ProductPrecision precision, void* workspace)> {};
/// C -= A B^T as subtract_transposed_products<float>(), by slices: A m x k, B n x k, C m x n, row-major.
/// `workspace` is aligned to 256 bytes and holds split_workspace(m, k, n) bytes; the CPU twin does not use it.
inline constexpr SubtractTransposedProductBySlices subtract_transposed_product_by_slices{};

template <class T, class V>
struct SubtractProduct : Kernel<SubtractProduct<T, V>,
                                void(View<const T> a, MatrixPart part, Index diagonal, View<const V> x, View<V> y)> {};
/// Y -= A X for a part of A, row-major; the diagonal passes through a(i, i + diagonal). X and Y do not overlap. Meant
/// for few vectors: it costs the time to read the matrix once for each. For matrices of T and vectors of V, both float
/// or double, V not shorter than T.
template <class T, class V>
inline constexpr SubtractProduct<T, V> subtract_product{};

template <class T>
struct SubtractFromRows : Kernel<SubtractFromRows<T>, void(View<const T> a, View<const T> x, View<T> y)> {};
/// Y -= A X, for A row-major or the transpose of such a matrix. X and Y are row-major and do not overlap.
template <class T>
inline constexpr SubtractFromRows<T> subtract_from_rows{};

template <class T>
struct SubtractTransposedProducts
    : Kernel<SubtractTransposedProducts<T>,
             void(Index count, Strided<const T> a, Strided<const T> b, Strided<T> c, ProductPrecision precision)> {};
/// C_i -= A_i B_i^T for i < count: A_i m x k, B_i n x k, C_i m x n, row-major. `precision` as for update_trailing().
template <class T>
inline constexpr SubtractTransposedProducts<T> subtract_transposed_products{};

}  // namespace basalt::on_stream
