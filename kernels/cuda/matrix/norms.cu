#include <algorithm>

#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/order_bits.cuh"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/matrix.hpp"

namespace basalt::on_stream {

namespace {

using cuda_detail::divide_up;
using cuda_detail::native;
using cuda_detail::order_bits;
using cuda_detail::raise_to;

using cuda_detail::blocks;

constexpr int warp = cuda_detail::warp_threads;
constexpr int warps = cuda_detail::norm_warps;
constexpr int threads = cuda_detail::norm_threads;

/// Where a group's true elements are: all kernels take it by value.
template <class T>
struct Dealt {
    TileColumns<const T> a;
    TileDeal deal;
    Index m, n;

    __device__ const T* row(Index l, Index i) const { return a.data + l * a.stride + i * a.ld; }
    __device__ Index true_width(Index l) const { return min(n - deal.column(l) * a.width, a.width); }
};

template <class T>
Dealt<T> dealt(const TileGrid& grid, TileDeal deal, const TileColumns<const T>& a) {
    return {a, deal, grid.rows(), grid.cols()};
}

/// The part of a tile column that a block looks at, norm_block_rows x norm_block_cols at most: a warp a row.
/// Parts are numbered in blockIdx.x, across the tile columns first, then down.
struct Part {
    Index l, first_row, end_row, first_col, end_col;

    template <class T>
    __device__ explicit Part(const Dealt<T>& dealt) {
        const Index across = (dealt.a.width + norm_block_cols - 1) / norm_block_cols;
        const Index beside = across * dealt.a.columns, place = blockIdx.x % beside;
        l = place / across;
        first_row = blockIdx.x / beside * norm_block_rows;
        end_row = min(first_row + norm_block_rows, dealt.m);
        first_col = place % across * norm_block_cols;
        end_col = min(first_col + norm_block_cols, dealt.true_width(l));
    }

    /// Calls visit(magnitude) for the elements that fall to this thread.
    template <class T, class Visit>
    __device__ void for_each_magnitude(const Dealt<T>& dealt, Visit visit) const {
        for (Index i = first_row + threadIdx.x / warp; i < end_row; i += warps) {
            const T* const row = dealt.row(l, i);
            for (Index c = first_col + threadIdx.x % warp; c < end_col; c += warp) {
                visit(fabs(static_cast<double>(row[c])));
            }
        }
    }
};

template <class T>
cuda_detail::Grid parts(const TileColumns<const T>& a) {
    return cuda_detail::norm_parts_grid(a.columns, norm_blocks_down(a.rows), norm_blocks_across(a.width));
}

/// The result of joining the values of all threads of a block, in thread 0: in a tree, so always in the same
/// order.
template <class Value, class Join>
__device__ Value join_block(Value value, Join join) {
    __shared__ Value values[threads];
    values[threadIdx.x] = value;
    for (int half = threads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) values[threadIdx.x] = value = join(value, values[threadIdx.x + half]);
    }
    return value;  // not read from shared memory, where compilers let all threads read what thread 0 may still write
}

__device__ unsigned long long larger(unsigned long long a, unsigned long long b) { return max(a, b); }

__device__ blue::Sums sum_of(blue::Sums a, const blue::Sums& b) {
    a.add(b);
    return a;
}

template <class T>
__global__ void __launch_bounds__(threads) max_kernel(Dealt<T> dealt, double* result) {
    unsigned long long found = 0;
    Part(dealt).for_each_magnitude(dealt, [&](double magnitude) { found = max(found, order_bits(magnitude)); });
    found = join_block(found, larger);
    if (threadIdx.x == 0) raise_to(result, found);
}

__global__ void __launch_bounds__(threads) largest_kernel(const double* values, Index count, double* result) {
    unsigned long long found = 0;
    for (Index i = static_cast<Index>(blockIdx.x) * threads + threadIdx.x; i < count;
         i += static_cast<Index>(gridDim.x) * threads) {
        found = max(found, order_bits(values[i]));
    }
    found = join_block(found, larger);
    if (threadIdx.x == 0) raise_to(result, found);
}

template <class T>
__global__ void __launch_bounds__(threads) square_kernel(Dealt<T> dealt, blue::Sums* partial) {
    blue::Sums sums;
    Part(dealt).for_each_magnitude(dealt, [&](double magnitude) { sums.add(magnitude); });
    sums = join_block(sums, sum_of);
    if (threadIdx.x == 0) partial[blockIdx.x] = sums;
}

__global__ void __launch_bounds__(threads)
    add_squares_kernel(const blue::Sums* partial, Index count, blue::Sums* result) {
    blue::Sums sums;
    for (Index i = threadIdx.x; i < count; i += threads) sums.add(partial[i]);
    sums = join_block(sums, sum_of);
    if (threadIdx.x == 0) *result = sums;
}

/// Sums over norm_block_rows rows: partial[block of rows][l * width + c]. A warp's lanes are neighbouring
/// columns, its block's warps share out the rows.
template <class T>
__global__ void __launch_bounds__(threads)
    column_sums_kernel(Dealt<T> dealt, double* partial, Index segments, Index down) {
    __shared__ double sums[warps][warp];
    const int lane = threadIdx.x % warp, own = threadIdx.x / warp;
    const Index l = blockIdx.x / segments, c = blockIdx.x % segments * warp + lane;
    for (Index block = blockIdx.y; block < down; block += gridDim.y) {
        const Index first = block * norm_block_rows;
        const Index end = c < dealt.true_width(l) ? min(first + norm_block_rows, dealt.m) : first;
        double sum = 0;
        for (Index i = first + own; i < end; i += warps) sum += fabs(static_cast<double>(dealt.row(l, i)[c]));
        sums[own][lane] = sum;
        __syncthreads();
        if (own == 0 && c < dealt.a.width) {
            for (int w = 1; w < warps; ++w) sum += sums[w][lane];
            partial[block * dealt.a.columns * dealt.a.width + l * dealt.a.width + c] = sum;
        }
        __syncthreads();  // the sums are read
    }
}

__global__ void __launch_bounds__(threads)
    add_columns_kernel(const double* partial, Index down, Index count, double* sums) {
    const Index c = static_cast<Index>(blockIdx.x) * threads + threadIdx.x;
    if (c >= count) return;
    double sum = 0;
    for (Index block = 0; block < down; ++block) sum += partial[block * count + c];
    sums[c] = sum;
}

/// A warp a row, through all tile columns.
template <class T>
__global__ void __launch_bounds__(threads) row_sums_kernel(Dealt<T> dealt, double* sums) {
    const int lane = threadIdx.x % warp;
    const Index i = static_cast<Index>(blockIdx.x) * warps + threadIdx.x / warp;
    if (i >= dealt.m) return;
    double sum = 0;
    for (Index l = 0; l < dealt.a.columns; ++l) {
        const T* const row = dealt.row(l, i);
        const Index width = dealt.true_width(l);
        for (Index c = lane; c < width; c += warp) sum += fabs(static_cast<double>(row[c]));
    }
    for (int half = warp / 2; half > 0; half /= 2) sum += __shfl_down_sync(0xffffffffU, sum, half);
    if (lane == 0) sums[i] = sum;
}

void set_zero(Stream stream, void* memory, std::size_t bytes) {
    cuda_detail::check(cudaMemsetAsync(memory, 0, bytes, native(stream)), "cudaMemsetAsync", stream);
}

}  // namespace

template <class T>
void run_on_gpu(MaxNorm<T>, Stream stream, const TileGrid& grid, TileDeal deal, TileColumns<const T> a,
                double* result) {
    set_zero(stream, result, sizeof(double));
    if (a.empty()) return;
    max_kernel<T><<<blocks(parts(a)), threads, 0, native(stream)>>>(dealt(grid, deal, a), result);
    cuda_detail::check_launch("max_kernel", stream);
}

template <class T>
void run_on_gpu(AbsoluteColumnSums<T>, Stream stream, const TileGrid& grid, TileDeal deal, TileColumns<const T> a,
                double* sums, double* workspace) {
    const Index count = a.columns * a.width, down = norm_blocks_down(a.rows), segments = divide_up(a.width, warp);
    if (count == 0) return;
    if (down == 0) return set_zero(stream, sums, sizeof(double) * static_cast<std::size_t>(count));
    column_sums_kernel<T>
        <<<blocks(cuda_detail::column_sums_grid(a.columns, down, a.width)), threads, 0, native(stream)>>>(
            dealt(grid, deal, a), workspace, segments, down);
    cuda_detail::check_launch("column_sums_kernel", stream);
    add_columns_kernel<<<blocks(cuda_detail::add_columns_grid(count)), threads, 0, native(stream)>>>(workspace, down,
                                                                                                     count, sums);
    cuda_detail::check_launch("add_columns_kernel", stream);
}

template <class T>
void run_on_gpu(AbsoluteRowSums<T>, Stream stream, const TileGrid& grid, TileDeal deal, TileColumns<const T> a,
                double* sums) {
    if (grid.rows() == 0) return;
    row_sums_kernel<T>
        <<<blocks(cuda_detail::row_sums_grid(grid.rows())), threads, 0, native(stream)>>>(dealt(grid, deal, a), sums);
    cuda_detail::check_launch("row_sums_kernel", stream);
}

template <class T>
void run_on_gpu(SquareSums<T>, Stream stream, const TileGrid& grid, TileDeal deal, TileColumns<const T> a,
                blue::Sums* sums, double* workspace) {
    auto* const partial = reinterpret_cast<blue::Sums*>(workspace);
    if (!a.empty()) {
        square_kernel<T><<<blocks(parts(a)), threads, 0, native(stream)>>>(dealt(grid, deal, a), partial);
        cuda_detail::check_launch("square_kernel", stream);
    }
    add_squares_kernel<<<1, threads, 0, native(stream)>>>(partial, a.empty() ? 0 : parts(a).x, sums);
    cuda_detail::check_launch("add_squares_kernel", stream);
}

void run_on_gpu(Largest, Stream stream, const double* values, Index count, double* result) {
    set_zero(stream, result, sizeof(double));
    if (count == 0) return;
    largest_kernel<<<blocks(cuda_detail::largest_grid(count)), threads, 0, native(stream)>>>(values, count, result);
    cuda_detail::check_launch("largest_kernel", stream);
}

template <>
const MaxNorm<float>::Gpu Code<MaxNorm<float>>::gpu = gpu_code<MaxNorm<float>>;
template <>
const MaxNorm<double>::Gpu Code<MaxNorm<double>>::gpu = gpu_code<MaxNorm<double>>;
template <>
const AbsoluteColumnSums<float>::Gpu Code<AbsoluteColumnSums<float>>::gpu = gpu_code<AbsoluteColumnSums<float>>;
template <>
const AbsoluteColumnSums<double>::Gpu Code<AbsoluteColumnSums<double>>::gpu = gpu_code<AbsoluteColumnSums<double>>;
template <>
const AbsoluteRowSums<float>::Gpu Code<AbsoluteRowSums<float>>::gpu = gpu_code<AbsoluteRowSums<float>>;
template <>
const AbsoluteRowSums<double>::Gpu Code<AbsoluteRowSums<double>>::gpu = gpu_code<AbsoluteRowSums<double>>;
template <>
const SquareSums<float>::Gpu Code<SquareSums<float>>::gpu = gpu_code<SquareSums<float>>;
template <>
const SquareSums<double>::Gpu Code<SquareSums<double>>::gpu = gpu_code<SquareSums<double>>;
template <>
const Largest::Gpu Code<Largest>::gpu = gpu_code<Largest>;

}  // namespace basalt::on_stream
