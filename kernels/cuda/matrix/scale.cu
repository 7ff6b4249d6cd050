#include <algorithm>
#include <cassert>

#include "kernels/cuda/common/launch.cuh"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/scaling.hpp"

namespace basalt::on_stream {

namespace {

using cuda_detail::blocks;
using cuda_detail::native;
using cuda_detail::scaled_columns_grid;

constexpr int threads = cuda_detail::scaled_columns;
constexpr Index rows_a_block = cuda_detail::scaled_rows;

/// Calls visit(begin, end) for the rows that fall to this block.
template <class Visit>
__device__ void for_each_strip(Index rows, const Visit& visit) {
    for (Index first = static_cast<Index>(blockIdx.y) * rows_a_block; first < rows;
         first += static_cast<Index>(gridDim.y) * rows_a_block) {
        visit(first, min(first + rows_a_block, rows));
    }
}

__device__ Index own_column() { return static_cast<Index>(blockIdx.x) * threads + threadIdx.x; }

/// `largest`: zeros at the start.
__global__ void __launch_bounds__(threads) largest_in_columns_kernel(View<const float> a, float* largest) {
    const Index c = own_column();
    if (c >= a.cols()) return;
    float most = 0;
    for_each_strip(a.rows(), [&](Index begin, Index end) {
#pragma unroll 8
        for (Index i = begin; i < end; ++i) {
            const float magnitude = fabsf(a(i, c));
            if (isfinite(magnitude)) most = fmaxf(most, magnitude);
        }
    });
    // magnitudes are ordered like the integers that their bits are
    atomicMax(reinterpret_cast<unsigned*>(&largest[c]), __float_as_uint(most));
}

__global__ void __launch_bounds__(threads)
    scale_columns_kernel(View<float> a, Index diagonal, const float* largest, ColumnScaling scaling) {
    const Index c = own_column();
    if (c >= a.cols()) return;
    const int exponent = column_exponent(largest[c]);
    if (exponent == 0) return;
    const bool all = scaling == ColumnScaling::to_one;
    const int power = all ? -exponent : exponent;
    for_each_strip(all ? a.rows() : min(max(c - diagonal + 1, Index{0}), a.rows()), [&](Index begin, Index end) {
#pragma unroll 8
        for (Index i = begin; i < end; ++i) a(i, c) = times_power_of_two(a(i, c), power);
    });
}

}  // namespace

void run_on_gpu(LargestInColumns, Stream stream, View<const float> a, View<float> largest) {
    assert(largest.rows() == a.cols() && largest.row_stride() == 1);
    if (a.cols() == 0) return;
    cuda_detail::check(
        cudaMemsetAsync(largest.data(), 0, static_cast<std::size_t>(a.cols()) * sizeof(float), native(stream)),
        "cudaMemsetAsync", stream);
    if (a.rows() == 0) return;
    largest_in_columns_kernel<<<blocks(scaled_columns_grid(a.rows(), a.cols())), threads, 0, native(stream)>>>(
        a, largest.data());
    cuda_detail::check_launch("largest_in_columns_kernel", stream);
}

void run_on_gpu(ScaleColumns, Stream stream, View<float> a, Index diagonal, View<const float> largest,
                ColumnScaling scaling) {
    assert(largest.rows() == a.cols() && largest.row_stride() == 1);
    if (a.empty()) return;
    scale_columns_kernel<<<blocks(scaled_columns_grid(a.rows(), a.cols())), threads, 0, native(stream)>>>(
        a, diagonal, largest.data(), scaling);
    cuda_detail::check_launch("scale_columns_kernel", stream);
}

template <>
const LargestInColumns::Gpu Code<LargestInColumns>::gpu = gpu_code<LargestInColumns>;
template <>
const ScaleColumns::Gpu Code<ScaleColumns>::gpu = gpu_code<ScaleColumns>;

}  // namespace basalt::on_stream
