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
constexpr int rows_a_block = cuda_detail::measured_rows;
constexpr int loads = 2;  // of a thread in each row
constexpr int columns_at_once = warps * warp * loads;
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

/// Thread q adds up what all threads have of row first + q, in a fixed order.
template <ScaledRows of_rows>
__device__ void collect(const double (&sums)[rows_a_block], const double (&of_row)[rows_a_block], Index first,
                        Index rows, const MeasuredMagnitudes& found) {
    __shared__ double parts[2][rows_a_block][warps];
    const int lane = threadIdx.x % warp, number = threadIdx.x / warp;
#pragma unroll
    for (int q = 0; q < rows_a_block; ++q) {
        double sum = sums[q], scaled = of_row[q];
        for (int half = warp / 2; half > 0; half /= 2) {
            sum += __shfl_down_sync(0xffffffffU, sum, half);
            scaled = combined<of_rows>(scaled, __shfl_down_sync(0xffffffffU, scaled, half));
        }
        if (lane == 0) parts[0][q][number] = sum, parts[1][q][number] = scaled;
    }
    __syncthreads();
    const int q = threadIdx.x;
    if (q >= rows_a_block || first + q >= rows) return;
    double &sum = found.row_sums[first + q], &scaled = found.row_scaled[first + q];
    if (!found.more) sum = scaled = 0;
    for (int w = 0; w < warps; ++w) {
        sum += parts[0][q][w];
        scaled = combined<of_rows>(scaled, parts[1][q][w]);
    }
}

/// A block walks along some rows, with their sums and maxima in registers. Blocks begin in different columns: those
/// that come to a column later find its maximum known, and seldom write it.
template <bool rounds, ScaledRows of_rows>
__global__ void __launch_bounds__(warp* warps, 2)
    measure_kernel(View<const double> a, const double* row_factors, const double* col_factors, MeasuredMagnitudes found,
                   View<float> target) {
    const Index cols = rounds ? target.cols() : a.cols(), rows = rounds ? target.rows() : a.rows();
    const Index first = static_cast<Index>(blockIdx.x) * rows_a_block;
    double sums[rows_a_block] = {}, of_row[rows_a_block] = {}, factors[rows_a_block];
#pragma unroll
    for (int q = 0; q < rows_a_block; ++q) factors[q] = first + q < a.rows() ? row_factors[first + q] : 0;
    const Index steps = (cols + columns_at_once - 1) / columns_at_once;
    Index step = blockIdx.x % steps;
#pragma unroll 1
    for (Index taken = 0; taken < steps; ++taken, step = step + 1 < steps ? step + 1 : 0) {
        const Index begin = step * columns_at_once + threadIdx.x;
        double elements[loads][rows_a_block];  // all on their way before the first is used
#pragma unroll
        for (int s = 0; s < loads; ++s) {
            const Index c = begin + s * warps * warp;
#pragma unroll
            for (int q = 0; q < rows_a_block; ++q) {
                elements[s][q] = c < a.cols() && first + q < a.rows() ? a(first + q, c) : 0;
            }
        }
#pragma unroll
        for (int s = 0; s < loads; ++s) {
            const Index c = begin + s * warps * warp;
            const bool own = c < a.cols();
            const double col_factor = own ? col_factors[c] : 0;
            // a look first: a stale value is too small, so nothing that is larger gets lost
            const double known = own ? *static_cast<volatile const double*>(&found.col_max[c]) : 0;
            double of_column = 0;
#pragma unroll
            for (int q = 0; q < rows_a_block; ++q) {
                const double scaled = elements[s][q] * factors[q] * col_factor, magnitude = fabs(scaled);
                sums[q] += fabs(elements[s][q]);
                of_row[q] = combined<of_rows>(of_row[q], magnitude);
                of_column = fmax(of_column, magnitude);
                if constexpr (rounds) {
                    if (c < cols && first + q < rows) target(first + q, c) = static_cast<float>(scaled);
                }
            }
            if (own && of_column > known) keep_larger(&found.col_max[c], of_column);
        }
    }
    collect<of_rows>(sums, of_row, first, a.rows(), found);
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
