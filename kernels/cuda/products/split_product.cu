#include <algorithm>
#include <cassert>
#include <cstdint>
#include <type_traits>

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/cuda/common/blas.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/products.hpp"
#include "kernels/triangle.hpp"

namespace basalt::on_stream {

namespace {

using cuda_detail::check;
using cuda_detail::divide_up;

constexpr int threads = cuda_detail::split_threads;
constexpr int rows_a_block = cuda_detail::split_rows;

/// Where slices are stored: element (row, col) of the l-th matrix's slice for product p is at[l * batch + p * slice +
/// row * ld + col].
template <class Slice>
struct Slices {
    Slice* at;
    Index ld, slice, batch;
};

/// The nearest number of 8 bits, but never infinity where x is not.
__device__ void slice_of(float x, __nv_bfloat16& slice) {
    slice = __float2bfloat16_rn(x);
    if (isinf(__bfloat162float(slice)) && !isinf(x)) slice = __float2bfloat16_rz(x);
}
__device__ void slice_of(float x, __half& slice) { slice = __float2half_rn(x); }

__device__ float value_of(__nv_bfloat16 slice) { return __bfloat162float(slice); }
__device__ float value_of(__half slice) { return __half2float(slice); }

template <class Slice, int count>
__device__ void split(float x, float step, Slice (&slices)[count]) {
    float left = x;
#pragma unroll
    for (int p = 0; p < count; ++p) {
        slice_of(left, slices[p]);
        // infinity and NaN leave no remainder
        left = isfinite(x) ? (left - value_of(slices[p])) * step : 0.0F;
    }
}

/// What product p takes of a number with these slices, on this side.
template <Side side, int p, class Slice, int count>
__device__ Slice operand(const Slice (&slices)[count], float divisor) {
    constexpr SliceProduct product = slice_product(count, p);
    constexpr int divisions = product.left + product.right;
    const Slice slice = slices[side == Side::left ? product.left : product.right];
    if constexpr (divisions == 0) return slice;
    const float part = 1 / divisor;  // exact: a power of two
    Slice divided;
    slice_of(value_of(slice) * (divisions == 1 ? part : part * part), divided);
    return divided;
}

/// operand() of neighbours for the products p, p + 1 ..., `to` being where those of product 0 lie.
template <Side side, int p, class Slice, int count, int pack>
__device__ void store_operands(const Slice (&of)[pack][count], float divisor, Slice* to, Index next) {
    if constexpr (p < slice_products(count)) {
        alignas(8) Slice side_by_side[pack];
#pragma unroll
        for (int c = 0; c < pack; ++c) side_by_side[c] = operand<side, p>(of[c], divisor);
        if constexpr (pack == 4) {
            *reinterpret_cast<uint2*>(to + p * next) = *reinterpret_cast<const uint2*>(side_by_side);
        } else {
            to[p * next] = side_by_side[0];
        }
        store_operands<side, p + 1>(of, divisor, to, next);
    }
}

/// `pack` neighbours at once: addresses and strides are multiples of it.
template <Side side, class Slice, int count, int pack>
__global__ void __launch_bounds__(threads)
    split_kernel(TileColumns<const float> from, Slicing slicing, Slices<Slice> to, Index segments_a_row) {
    const float step = slicing.step(), divisor = side == Side::left ? slicing.left : slicing.right;
    const Index l = blockIdx.x / segments_a_row;
    const Index col = (blockIdx.x % segments_a_row * threads + threadIdx.x) * pack;
    if (col >= from.width) return;
    for (Index first = static_cast<Index>(blockIdx.y) * rows_a_block; first < from.rows;
         first += static_cast<Index>(gridDim.y) * rows_a_block) {
        alignas(16) float x[rows_a_block][pack];
#pragma unroll
        for (int r = 0; r < rows_a_block; ++r) {
            if (first + r >= from.rows) continue;
            const float* const at = from.data + l * from.stride + (first + r) * from.ld + col;
            if constexpr (pack == 4) {
                *reinterpret_cast<float4*>(x[r]) = *reinterpret_cast<const float4*>(at);
            } else {
                x[r][0] = *at;
            }
        }
#pragma unroll
        for (int r = 0; r < rows_a_block; ++r) {
            if (first + r >= from.rows) continue;
            Slice of[pack][count];
#pragma unroll
            for (int c = 0; c < pack; ++c) split(x[r][c], step, of[c]);
            store_operands<side, 0>(of, divisor, to.at + l * to.batch + (first + r) * to.ld + col, to.slice);
        }
    }
}

template <Side side, class Slice, int count>
void split(Stream stream, const TileColumns<const float>& from, const Slicing& slicing, const Slices<Slice>& to) {
    constexpr int pack = 4;
    const auto even = [](Index stride) { return stride % pack == 0; };
    const bool packed = reinterpret_cast<std::uintptr_t>(from.data) % 16 == 0 && even(from.ld) && even(from.width) &&
                        even(from.stride) && even(to.ld) && even(to.slice) && even(to.batch);
    const Index neighbours = packed ? pack : 1, segments = divide_up(from.width, threads * neighbours);
    const auto grid = cuda_detail::split_grid(from.columns, from.rows, from.width, neighbours);
    const auto kernel = packed ? split_kernel<side, Slice, count, pack> : split_kernel<side, Slice, count, 1>;
    kernel<<<cuda_detail::blocks(grid), threads, 0, cuda_detail::native(stream)>>>(from, slicing, to, segments);
    cuda_detail::check_launch("split_kernel", stream);
}

template <class Slice>
constexpr cudaDataType_t type_of = std::is_same_v<Slice, __half> ? CUDA_R_16F : CUDA_R_16BF;

/// Calls visit(slice, count) with an object of the type of the slices and an integral constant.
template <class Visit>
void with_slices(const Slicing& slicing, const Visit& visit) {
    if (slicing.format == SliceFormat::bf16) {
        if (slicing.count == 1) return visit(__nv_bfloat16(), std::integral_constant<int, 1>());
        return visit(__nv_bfloat16(), std::integral_constant<int, split_slices>());
    }
    if (slicing.count == 1) return visit(__half(), std::integral_constant<int, 1>());
    visit(__half(), std::integral_constant<int, 2>());
}

/// While it lives, products of the stream's cuBLAS handle leave that many multiprocessors alone, but use at least half.
class FewerMultiprocessors {
  public:
    FewerMultiprocessors(Stream stream, int left_alone)
        : stream_(stream), handle_(static_cast<cublasHandle_t>(stream.blas())) {
        int device = 0, all = 0;
        check(cudaGetDevice(&device), "cudaGetDevice", stream_);
        check(cudaDeviceGetAttribute(&all, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute", stream_);
        check(cublasSetSmCountTarget(handle_, std::max(all - left_alone, (all + 1) / 2)), "cublasSetSmCountTarget",
              stream_);
    }
    FewerMultiprocessors(const FewerMultiprocessors&) = delete;
    FewerMultiprocessors& operator=(const FewerMultiprocessors&) = delete;
    ~FewerMultiprocessors() { cublasSetSmCountTarget(handle_, 0); }  // all; cannot fail for a valid handle

  private:
    Stream stream_;
    cublasHandle_t handle_;
};

/// update_by_slices() for a depth of at most split_depth.
template <class Slice, int count>
void update_by_short_slices(Stream stream, View<const float> l, TileColumns<const float> u, TileColumns<float> c,
                            const Slicing& slicing, void* workspace, RoomForOthers room) {
    const Index m = l.rows(), k = l.cols(), n = u.width, depth = slice_products(count) * k;
    const bool transposed = l.col_stride() != 1;
    // slices of L follow each other along the depth, where the next one is `next` further
    const Index next = transposed ? k * m : k, ld = transposed ? m : depth;
    auto* const of_l = static_cast<Slice*>(workspace);
    auto* const of_u = of_l + split_workspace(m, k, 0) / sizeof(Slice);
    const View<const float> stored = transposed ? View<const float>::row_major(l.data(), k, m, l.col_stride()) : l;
    split<Side::left, Slice, count>(stream, one_tile_column(stored), slicing, {of_l, ld, next, 0});
    split<Side::right, Slice, count>(stream, u, slicing, {of_u, n, k * n, depth * n});

    const auto multiply = [&](Index first, Index columns) {
        constexpr float minus_one = -1, one = 1;
        check(cublasGemmStridedBatchedEx(
                  static_cast<cublasHandle_t>(stream.blas()), CUBLAS_OP_N, transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                  static_cast<int>(n), static_cast<int>(m), static_cast<int>(depth), &minus_one,
                  of_u + first * depth * n, type_of<Slice>, static_cast<int>(n), depth * n, of_l, type_of<Slice>,
                  static_cast<int>(ld), 0, &one, c.data + first * c.stride, CUDA_R_32F, static_cast<int>(c.ld),
                  c.stride, static_cast<int>(columns), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
              "cublasGemmStridedBatchedEx", stream);
    };
    const Index with_room = room.multiprocessors > 0 ? std::min(room.columns, c.columns) : 0;
    if (with_room > 0) {
        const FewerMultiprocessors fewer(stream, room.multiprocessors);
        multiply(0, with_room);
    }
    if (with_room < c.columns) multiply(with_room, c.columns - with_room);
}

/// C -= A B^T by slices.
template <class Slice, int count>
void subtract_by_slices(Stream stream, View<const float> a, View<const float> b, View<float> c, const Slicing& slicing,
                        void* workspace) {
    const Index m = a.rows(), k = a.cols(), n = b.rows(), depth = slice_products(count) * k;
    auto* const of_a = static_cast<Slice*>(workspace);
    auto* const of_b = of_a + split_workspace(m, k, 0) / sizeof(Slice);
    split<Side::left, Slice, count>(stream, one_tile_column(a), slicing, {of_a, depth, k, 0});
    split<Side::right, Slice, count>(stream, one_tile_column(b), slicing, {of_b, depth, k, 0});

    constexpr float minus_one = -1, one = 1;
    check(cublasGemmEx(static_cast<cublasHandle_t>(stream.blas()), CUBLAS_OP_T, CUBLAS_OP_N, static_cast<int>(n),
                       static_cast<int>(m), static_cast<int>(depth), &minus_one, of_b, type_of<Slice>,
                       static_cast<int>(depth), of_a, type_of<Slice>, static_cast<int>(depth), &one, c.data(),
                       CUDA_R_32F, static_cast<int>(c.row_stride()), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
          "cublasGemmEx", stream);
}

}  // namespace

void run_on_gpu(UpdateBySlices, Stream stream, View<const float> l, TileColumns<const float> u, TileColumns<float> c,
                ProductPrecision precision, void* workspace, RoomForOthers room) {
    assert(l.rows() == c.rows && l.cols() == u.rows && u.columns == c.columns && u.width == c.width);
    if (c.empty()) return;
    const Slicing slicing = slicing_of(precision);
    with_slices(slicing, [&]<class Slice, int count>(Slice, std::integral_constant<int, count>) {
        for (Index first = 0; first < l.cols(); first += split_depth) {
            const Index depth = std::min(split_depth, l.cols() - first);
            update_by_short_slices<Slice, count>(stream, l.block(0, first, l.rows(), depth), u.row_range(first, depth),
                                                 c, slicing, workspace, room);
        }
    });
}

void run_on_gpu(SubtractTransposedProductBySlices, Stream stream, View<const float> a, View<const float> b,
                View<float> c, ProductPrecision precision, void* workspace) {
    assert(a.rows() == c.rows() && b.rows() == c.cols() && a.cols() == b.cols());
    if (c.empty() || a.cols() == 0) return;
    const Slicing slicing = slicing_of(precision);
    with_slices(slicing, [&]<class Slice, int count>(Slice, std::integral_constant<int, count>) {
        subtract_by_slices<Slice, count>(stream, a, b, c, slicing, workspace);
    });
}

template <>
const UpdateBySlices::Gpu Code<UpdateBySlices>::gpu = gpu_code<UpdateBySlices>;
template <>
const SubtractTransposedProductBySlices::Gpu Code<SubtractTransposedProductBySlices>::gpu =
    gpu_code<SubtractTransposedProductBySlices>;

}  // namespace basalt::on_stream
