#include <algorithm>
#include <cassert>

#include "kernels/cuda/common/launch.cuh"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/mixed.hpp"

namespace basalt::on_stream {

namespace {

using cuda_detail::blocks;
using cuda_detail::native;

constexpr int warp = cuda_detail::warp_threads;
constexpr int warps = cuda_detail::measured_warps;
constexpr int rows_a_warp = cuda_detail::measured_rows_a_warp;
constexpr int strips_a_block = cuda_detail::measured_strips;  // of warps * rows_a_warp rows
constexpr int columns_at_once = cuda_detail::measured_columns;
constexpr int loads = 4;  // of a lane in each row
constexpr int round_threads = cuda_detail::rounded_columns;
constexpr Index round_rows = cuda_detail::rounded_rows;

/// Magnitudes are ordered like the integers that their bits are.
__device__ void keep_larger(double* to, double x) {
    atomicMax(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(__double_as_longlong(x)));
}

template <ScaledRows of_rows>
__device__ double combined(double x, double y) {
    return of_rows == ScaledRows::sums ? x + y : fmax(x, y);
}

/// A warp takes some rows at a time and walks along them. The columns' maxima of a block are in shared memory.
template <bool rounds, ScaledRows of_rows>
__global__ void __launch_bounds__(warp* warps, 2)
    measure_kernel(View<const double> a, const double* row_factors, const double* col_factors, MeasuredMagnitudes found,
                   View<float> target) {
    __shared__ double most[columns_at_once];
    const int lane = threadIdx.x % warp, number = threadIdx.x / warp;
    const Index cols = rounds ? target.cols() : a.cols(), rows = rounds ? target.rows() : a.rows();
    const Index block_first = static_cast<Index>(blockIdx.x) * warps * rows_a_warp * strips_a_block;
    for (Index left = 0; left < cols; left += columns_at_once) {
        const Index right = min(left + columns_at_once, cols), own_right = min(right, a.cols());
        for (int c = threadIdx.x; c < columns_at_once; c += warp * warps) most[c] = 0;
        __syncthreads();
#pragma unroll 1
        for (int strip = 0; strip < strips_a_block; ++strip) {
            const Index first = block_first + (static_cast<Index>(strip) * warps + number) * rows_a_warp;
            double sums[rows_a_warp] = {}, of_row[rows_a_warp] = {}, factors[rows_a_warp];
#pragma unroll
            for (int q = 0; q < rows_a_warp; ++q) factors[q] = first + q < a.rows() ? row_factors[first + q] : 0;
#pragma unroll 1
            for (Index begin = left + lane; begin < right; begin += warp * loads) {
                double elements[loads][rows_a_warp];  // all on their way before the first is used
#pragma unroll
                for (int s = 0; s < loads; ++s) {
                    const Index c = begin + s * warp;
#pragma unroll
                    for (int q = 0; q < rows_a_warp; ++q) {
                        elements[s][q] = c < own_right && first + q < a.rows() ? a(first + q, c) : 0;
                    }
                }
#pragma unroll
                for (int s = 0; s < loads; ++s) {
                    const Index c = begin + s * warp;
                    const double col_factor = c < own_right ? col_factors[c] : 0;
                    double of_column = 0;
#pragma unroll
                    for (int q = 0; q < rows_a_warp; ++q) {
                        const double scaled = elements[s][q] * factors[q] * col_factor, magnitude = fabs(scaled);
                        sums[q] += fabs(elements[s][q]);
                        of_row[q] = combined<of_rows>(of_row[q], magnitude);
                        of_column = fmax(of_column, magnitude);
                        if constexpr (rounds) {
                            if (c < right && first + q < rows) target(first + q, c) = static_cast<float>(scaled);
                        }
                    }
                    if (c < own_right && of_column > most[c - left]) keep_larger(&most[c - left], of_column);
                }
            }
#pragma unroll
            for (int q = 0; q < rows_a_warp; ++q) {
                for (int half = warp / 2; half > 0; half /= 2) {
                    sums[q] += __shfl_down_sync(0xffffffffU, sums[q], half);
                    of_row[q] = combined<of_rows>(of_row[q], __shfl_down_sync(0xffffffffU, of_row[q], half));
                }
                if (lane != 0 || first + q >= a.rows()) continue;
                double &sum = found.row_sums[first + q], &scaled = found.row_scaled[first + q];
                const bool again = found.more || left > 0;
                sum = again ? sum + sums[q] : sums[q];
                scaled = again ? combined<of_rows>(scaled, of_row[q]) : of_row[q];
            }
        }
        __syncthreads();
        for (Index c = left + threadIdx.x; c < own_right; c += warp * warps) {
            double* const largest = &found.col_max[c];
            // a look first: a stale value is too small, so nothing that is larger gets lost
            if (most[c - left] > *static_cast<volatile const double*>(largest)) keep_larger(largest, most[c - left]);
        }
        __syncthreads();
    }
}

__global__ void __launch_bounds__(round_threads)
    round_kernel(View<const double> a, const double* row_factors, const double* col_factors, View<float> target) {
    const Index c = static_cast<Index>(blockIdx.x) * round_threads + threadIdx.x;
    if (c >= target.cols()) return;
    const double col_factor = c < a.cols() ? col_factors[c] : 0;
    for (Index first = static_cast<Index>(blockIdx.y) * round_rows; first < target.rows();
         first += static_cast<Index>(gridDim.y) * round_rows) {
#pragma unroll
        for (int q = 0; q < round_rows; ++q) {
            const Index i = first + q;
            if (i >= target.rows()) break;
            const bool there = i < a.rows() && c < a.cols();
            target(i, c) = there ? static_cast<float>(a(i, c) * row_factors[i] * col_factor) : 0.0F;
        }
    }
}

}  // namespace

void run_on_gpu(MeasureMagnitudes, Stream stream, View<const double> a, View<const double> row_factors,
                View<const double> col_factors, MeasuredMagnitudes found, View<float> target) {
    assert(a.col_stride() == 1 || a.cols() <= 1);
    assert(target.empty() || (target.rows() >= a.rows() && target.cols() >= a.cols()));
    if (a.empty()) return;
    cuda_detail::check(
        cudaMemsetAsync(found.col_max.data(), 0, static_cast<std::size_t>(a.cols()) * sizeof(double), native(stream)),
        "cudaMemsetAsync", stream);
    const Index rows = target.empty() ? a.rows() : target.rows();
    const bool sums = found.of_rows == ScaledRows::sums;
    const auto measuring = sums ? measure_kernel<false, ScaledRows::sums> : measure_kernel<false, ScaledRows::largest>;
    const auto rounding = sums ? measure_kernel<true, ScaledRows::sums> : measure_kernel<true, ScaledRows::largest>;
    const auto kernel = target.empty() ? measuring : rounding;
    kernel<<<blocks(cuda_detail::measured_grid(rows)), warp * warps, 0, native(stream)>>>(
        a, row_factors.data(), col_factors.data(), found, target);
    cuda_detail::check_launch("measure_kernel", stream);
}

void run_on_gpu(RoundScaled, Stream stream, View<const double> a, View<const double> row_factors,
                View<const double> col_factors, View<float> target) {
    assert(target.rows() >= a.rows() && target.cols() >= a.cols());
    if (target.empty()) return;
    round_kernel<<<blocks(cuda_detail::rounded_grid(target.rows(), target.cols())), round_threads, 0, native(stream)>>>(
        a, row_factors.data(), col_factors.data(), target);
    cuda_detail::check_launch("round_kernel", stream);
}

template <>
const MeasureMagnitudes::Gpu Code<MeasureMagnitudes>::gpu = gpu_code<MeasureMagnitudes>;
template <>
const RoundScaled::Gpu Code<RoundScaled>::gpu = gpu_code<RoundScaled>;

}  // namespace basalt::on_stream
