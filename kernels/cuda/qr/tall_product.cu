#include "kernels/cuda/qr/tall_product.hpp"

#include <algorithm>

#include "kernels/cuda/common/blas.cuh"
#include "kernels/cuda/common/launch.cuh"

namespace basalt::cuda_detail {

namespace {

// Of products, on each multiprocessor at once.
constexpr Index blocks_at_once = 2;
// A stretch of rows: shorter ones are mostly the work of beginning.
constexpr Index fewest_rows = 128, unit_rows = 32;

/// Elements of results that fill the GPU.
Index filling_elements(int multiprocessors) { return blocks_at_once * multiprocessors * block_elements; }

Index wanted_stretches(Index a, Index b, int multiprocessors) {
    return std::max<Index>(1, divide_up(filling_elements(multiprocessors), std::max<Index>(1, a * b)));
}

/// Rows of a stretch, about m / wanted: a divisor of m, where one is near.
Index rows_of_stretch(Index m, Index wanted, Index most) {
    const Index units = m / unit_rows, good = divide_up(divide_up(m, wanted), unit_rows);
    for (Index tried = good; m % unit_rows == 0 && tried <= 2 * good; ++tried) {
        if (units % tried == 0) return tried * unit_rows;
    }
    for (Index tried = good; m % unit_rows == 0 && 2 * tried >= good && tried >= 1; --tried) {
        if (units % tried == 0 && units / tried <= most) return tried * unit_rows;
    }
    return good * unit_rows;
}

constexpr int elements = 32, slices = 8;  // a block's threads: each sums every eighth part of an element
constexpr int at_once = 8;                // values on their way to a thread

template <class T>
__global__ void __launch_bounds__(elements* slices) sum_kernel(const T* parts, Index count, View<T> c) {
    __shared__ T sums[slices][elements];
    const Index size = c.rows() * c.cols(), number = static_cast<Index>(blockIdx.x) * elements + threadIdx.x;
    T sum = 0;
    for (Index first = threadIdx.y; number < size && first < count; first += slices * at_once) {
        T values[at_once];
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
            const Index part = first + i * slices;
            values[i] = part < count ? parts[part * size + number] : T{0};
        }
#pragma unroll
        for (int i = 0; i < at_once; ++i) sum += values[i];
    }
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || number >= size) return;
    for (int i = 1; i < slices; ++i) sum += sums[i][threadIdx.x];
    c(number / c.cols(), number % c.cols()) = sum;
}

}  // namespace

Index tall_product_workspace(Index a, Index b, int multiprocessors) {
    return filling_elements(multiprocessors) + 2 * a * b;  // rounded up, and one more stretch for the remaining rows
}

template <class T>
void tall_product(Stream stream, std::type_identity_t<View<const T>> x, std::type_identity_t<View<const T>> y,
                  View<T> c, T* workspace) {
    if (c.empty()) return;
    const Index m = x.rows(), a = x.cols(), b = y.cols();
    const Index most = wanted_stretches(a, b, stream.context()->multiprocessors),
                stretches = std::clamp<Index>(divide_up(m, fewest_rows), 1, most);
    if (stretches == 1 && m > 0) {
        batched_gemm<T>(stream, 1, T{1}, {x, 0, true}, {y}, T{0}, Batched<T>{c});
        return;
    }
    const Index rows = m == 0 ? unit_rows : rows_of_stretch(m, stretches, most);
    const Index whole = m / rows, left = m - whole * rows;
    const auto part = [&](Index number) { return View<T>::row_major(workspace + number * a * b, a, b, b); };
    if (whole > 0) {
        batched_gemm<T>(stream, whole, T{1}, {x.block(0, 0, rows, a), rows * x.row_stride(), true},
                        {y.block(0, 0, rows, b), rows * y.row_stride()}, T{0}, Batched<T>{part(0), a * b});
    }
    if (left > 0) {
        batched_gemm<T>(stream, 1, T{1}, {x.block(whole * rows, 0, left, a), 0, true},
                        {y.block(whole * rows, 0, left, b)}, T{0}, Batched<T>{part(whole)});
    }
    sum_parts<T>(stream, workspace, whole + (left > 0 ? 1 : 0), c);
}

template <class T>
void sum_parts(Stream stream, const T* parts, Index count, View<T> c) {
    sum_kernel<T><<<blocks(elements_grid(c.rows() * c.cols(), elements)), dim3(elements, slices), 0, native(stream)>>>(
        parts, count, c);
    check_launch("sum_kernel", stream);
}

template void tall_product<float>(Stream, View<const float>, View<const float>, View<float>, float*);
template void tall_product<double>(Stream, View<const double>, View<const double>, View<double>, double*);
template void sum_parts<float>(Stream, const float*, Index, View<float>);
template void sum_parts<double>(Stream, const double*, Index, View<double>);

}  // namespace basalt::cuda_detail
