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
constexpr Index cut_columns = 256;  // a tile column is cut at a multiple of them

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

/// The tile column of a thread, and the first of the `pack` neighbours that it takes of its rows.
template <int pack>
struct PackPlace {
    Index l, col;

    __device__ explicit PackPlace(Index segments_a_row)
        : l(blockIdx.x / segments_a_row), col((blockIdx.x % segments_a_row * threads + threadIdx.x) * pack) {}
};

/// Calls visit(row, elements) for the neighbours in each row that falls to this thread.
template <int pack, class Visit>
__device__ void for_each_row(const TileColumns<const float>& from, const PackPlace<pack>& place, const Visit& visit) {
    const auto [l, col] = place;
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
            if (first + r < from.rows) visit(first + r, x[r]);
        }
    }
}

/// `pack` neighbours at once: addresses and strides are multiples of it.
template <int pack>
__global__ void __launch_bounds__(threads)
    largest_of_operand_kernel(TileColumns<const float> from, unsigned* result, Index segments_a_row) {
    __shared__ unsigned of_block;
    if (threadIdx.x == 0) of_block = 0;
    __syncthreads();
    unsigned largest = 0;
    for_each_row(from, PackPlace<pack>(segments_a_row), [&](Index, const float(&x)[pack]) {
#pragma unroll
        for (int c = 0; c < pack; ++c) {
            if (isfinite(x[c])) largest = max(largest, __float_as_uint(fabsf(x[c])));
        }
    });
    largest = __reduce_max_sync(0xffffffffU, largest);
    if (threadIdx.x % cuda_detail::warp_threads == 0) atomicMax(&of_block, largest);
    __syncthreads();
    if (threadIdx.x == 0) atomicMax(result, of_block);
}

/// `pack` neighbours at once: addresses and strides are multiples of it. `largest`: bits of B's largest element;
/// nullptr where operands are not balanced.
template <Side side, class Slice, int count, int pack>
__global__ void __launch_bounds__(threads)
    split_kernel(TileColumns<const float> from, Slicing slicing, Slices<Slice> to, const unsigned* largest,
                 Index segments_a_row) {
    const float step = slicing.step(), divisor = side == Side::left ? slicing.left : slicing.right;
    const int balance = largest == nullptr ? 0 : balance_of(__uint_as_float(*largest));
    const float factor = power_of_two(side == Side::left ? balance : -balance);
    const PackPlace<pack> place(segments_a_row);
    for_each_row(from, place, [&](Index row, const float(&x)[pack]) {
        Slice of[pack][count];
#pragma unroll
        for (int c = 0; c < pack; ++c) split(x[c] * factor, step, of[c]);
        store_operands<side, 0>(of, divisor, to.at + place.l * to.batch + row * to.ld + place.col, to.slice);
    });
}

/// Whether kernels take four neighbours of these elements at once.
bool is_packed(const TileColumns<const float>& from) {
    const auto even = [](Index stride) { return stride % 4 == 0; };
    return reinterpret_cast<std::uintptr_t>(from.data) % 16 == 0 && even(from.ld) && even(from.width) &&
           even(from.stride);
}

template <Side side, class Slice, int count>
void split(Stream stream, const TileColumns<const float>& from, const Slicing& slicing, const Slices<Slice>& to,
           const unsigned* largest) {
    const bool packed = is_packed(from) && to.ld % 4 == 0 && to.slice % 4 == 0 && to.batch % 4 == 0;
    const Index neighbours = packed ? 4 : 1, segments = divide_up(from.width, threads * neighbours);
    const auto grid = cuda_detail::split_grid(from.columns, from.rows, from.width, neighbours);
    const auto kernel = packed ? split_kernel<side, Slice, count, 4> : split_kernel<side, Slice, count, 1>;
    kernel<<<cuda_detail::blocks(grid), threads, 0, cuda_detail::native(stream)>>>(from, slicing, to, largest,
                                                                                   segments);
    cuda_detail::check_launch("split_kernel", stream);
}

/// A workspace for a product of m x k and k x n, cut as SplitWorkspace says.
template <class Slice>
struct Operands {
    Slice* left;
    Slice* right;
    unsigned* largest = nullptr;  ///< bits of the largest element of the right operand; nullptr: not balanced

    Operands(void* workspace, const Slicing& slicing, Index m, Index k, Index n) {
        const SplitWorkspace layout(m, k, n);
        auto* const bytes = static_cast<char*>(workspace);
        left = reinterpret_cast<Slice*>(bytes);
        right = reinterpret_cast<Slice*>(bytes + layout.right);
        if (slicing.range == OperandRange::balanced) largest = reinterpret_cast<unsigned*>(bytes + layout.largest);
    }

    void measure(Stream stream, const TileColumns<const float>& of_right) const {
        if (largest == nullptr) return;
        check(cudaMemsetAsync(largest, 0, sizeof *largest, cuda_detail::native(stream)), "cudaMemsetAsync", stream);
        const Index neighbours = is_packed(of_right) ? 4 : 1,
                    segments = divide_up(of_right.width, threads * neighbours);
        const auto grid = cuda_detail::split_grid(of_right.columns, of_right.rows, of_right.width, neighbours);
        const auto kernel = neighbours == 4 ? largest_of_operand_kernel<4> : largest_of_operand_kernel<1>;
        kernel<<<cuda_detail::blocks(grid), threads, 0, cuda_detail::native(stream)>>>(of_right, largest, segments);
        cuda_detail::check_launch("largest_of_operand_kernel", stream);
    }
};

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
    const Operands<Slice> operands(workspace, slicing, m, k, u.columns * n);
    const View<const float> stored = transposed ? View<const float>::row_major(l.data(), k, m, l.col_stride()) : l;
    operands.measure(stream, u);
    split<Side::left, Slice, count>(stream, one_tile_column(stored), slicing, {operands.left, ld, next, 0},
                                    operands.largest);
    split<Side::right, Slice, count>(stream, u, slicing, {operands.right, n, k * n, depth * n}, operands.largest);

    // columns [col, col + cols) of each of `columns` tile columns
    const auto multiply = [&](Index first, Index columns, Index col, Index cols) {
        if (columns == 0 || cols == 0) return;
        constexpr float minus_one = -1, one = 1;
        check(cublasGemmStridedBatchedEx(static_cast<cublasHandle_t>(stream.blas()), CUBLAS_OP_N,
                                         transposed ? CUBLAS_OP_T : CUBLAS_OP_N, static_cast<int>(cols),
                                         static_cast<int>(m), static_cast<int>(depth), &minus_one,
                                         operands.right + first * depth * n + col, type_of<Slice>, static_cast<int>(n),
                                         depth * n, operands.left, type_of<Slice>, static_cast<int>(ld), 0, &one,
                                         c.data + first * c.stride + col, CUDA_R_32F, static_cast<int>(c.ld), c.stride,
                                         static_cast<int>(columns), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
              "cublasGemmStridedBatchedEx", stream);
    };
    const Index with_room = room.multiprocessors > 0 ? std::min(room.cols, c.columns * n) : 0;
    const Index part = divide_up(with_room % n, cut_columns) * cut_columns;  // of one tile column
    const Index whole = with_room / n + (part >= n ? 1 : 0);
    const bool is_cut = part > 0 && part < n;
    if (with_room > 0) {
        const FewerMultiprocessors fewer(stream, room.multiprocessors);
        multiply(0, whole, 0, n);
        if (is_cut) multiply(whole, 1, 0, part);
    }
    if (is_cut) multiply(whole, 1, part, n - part);
    const Index behind = whole + (is_cut ? 1 : 0);
    multiply(behind, c.columns - behind, 0, n);
}

/// C -= A B^T by slices.
template <class Slice, int count>
void subtract_by_slices(Stream stream, View<const float> a, View<const float> b, View<float> c, const Slicing& slicing,
                        void* workspace) {
    const Index m = a.rows(), k = a.cols(), n = b.rows(), depth = slice_products(count) * k;
    const Operands<Slice> operands(workspace, slicing, m, k, n);
    operands.measure(stream, one_tile_column(b));
    split<Side::left, Slice, count>(stream, one_tile_column(a), slicing, {operands.left, depth, k, 0},
                                    operands.largest);
    split<Side::right, Slice, count>(stream, one_tile_column(b), slicing, {operands.right, depth, k, 0},
                                     operands.largest);

    constexpr float minus_one = -1, one = 1;
    check(cublasGemmEx(static_cast<cublasHandle_t>(stream.blas()), CUBLAS_OP_T, CUBLAS_OP_N, static_cast<int>(n),
                       static_cast<int>(m), static_cast<int>(depth), &minus_one, operands.right, type_of<Slice>,
                       static_cast<int>(depth), operands.left, type_of<Slice>, static_cast<int>(depth), &one, c.data(),
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
