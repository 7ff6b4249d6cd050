#include "kernels/cuda/qr_leaf.hpp"

#include <algorithm>
#include <cstddef>

#include "kernels/cuda/launch.cuh"

namespace basalt::cuda_detail {

namespace {

constexpr int width = qr_leaf_width;
constexpr int ld = width + 4;  // four lanes on each of four rows or columns meet no bank twice
constexpr int threads = 256;
constexpr int lanes_a_line = threads / width;  // of a row or column that is solved for
constexpr int square = 16;                     // threads on a side where they share out a matrix
constexpr int per_thread = width / square;     // rows, and columns, of each of them

// Columns may be so far from orthogonal (the norm of a column times that of its row of the inverse): then the first Gram matrix loses at
// most ten bits, and A R^-1 by the inverse 32 x 64 roundings at worst.
constexpr double largest_condition = 32;
// What rows of the inverse of U may have as their norm: V stays as exact as Q.
constexpr double largest_growth = 1024;

/// What a Gram matrix may have on its diagonal: its elements then are safe from over- and underflow.
template <class T>
struct GramRange;
template <>
struct GramRange<double> {
    static constexpr double low = 0x1p-600, high = 0x1p600;
};
template <>
struct GramRange<float> {
    static constexpr float low = 0x1p-60F, high = 0x1p60F;
};

template <class T>
struct Square {
    T* at;
    __device__ T& operator()(int i, int j) const { return at[i * ld + j]; }
};

extern __shared__ __align__(16) unsigned char shared_bytes[];

template <class T>
__device__ Square<T> shared_square(int number) {
    return {reinterpret_cast<T*>(shared_bytes) + number * width * ld};
}
template <class T>
constexpr std::size_t bytes_of_squares(int count) {
    return static_cast<std::size_t>(count) * width * ld * sizeof(T);
}

template <class T>
__device__ void load(int w, const T* from, Index from_ld, Square<T> to) {
    for (int n = static_cast<int>(threadIdx.x); n < w * w; n += threads) to(n / w, n % w) = from[n / w * from_ld + n % w];
}

/// visit(i, j) for the elements i, j > first, shared out among the threads.
template <class F>
__device__ void for_each_behind(int first, int w, F visit) {
    for (int i = first + 1 + static_cast<int>(threadIdx.x) / square; i < w; i += square) {
        for (int j = first + 1 + static_cast<int>(threadIdx.x) % square; j < w; j += square) visit(i, j);
    }
}

/// G = R^T R: R in the place of G, zeros below; inverse[j] = 1 / R(j, j). False where G is not positive definite. Rows are scaled at the
/// end, so that a step needs one meeting.
template <class T>
__device__ bool cholesky(int w, Square<T> g, T* inverse) {
    bool positive = true;
    for (int j = 0; j < w; ++j) {
        __syncthreads();
        const T pivot = g(j, j);
        positive = positive && pivot > 0;
        const T reciprocal = T{1} / pivot;
        for_each_behind(j, w, [&](int i, int c) { g(i, c) -= g(j, i) * reciprocal * g(j, c); });
    }
    __syncthreads();
    if (threadIdx.x < w) inverse[threadIdx.x] = T{1} / sqrt(g(threadIdx.x, threadIdx.x));
    __syncthreads();
    for_each_behind(-1, w, [&](int i, int c) { g(i, c) = i <= c ? g(i, c) * inverse[i] : T{0}; });
    __syncthreads();
    return positive;
}

/// The sum over the lanes of a line; all of a warp's take part.
template <class T>
__device__ T sum_over_line(T value) {
    static_assert(lanes_a_line == 4);
    value += __shfl_xor_sync(0xffffffffU, value, 1);
    return value + __shfl_xor_sync(0xffffffffU, value, 2);
}

/// X = R^-1 of the upper triangle of r, zeros below; inverse[i] = 1 / R(i, i). Four lanes make a column, from below.
template <class T>
__device__ void invert_upper(int w, Square<T> r, const T* inverse, Square<T> x) {
    const int col = static_cast<int>(threadIdx.x) / lanes_a_line, lane = static_cast<int>(threadIdx.x) % lanes_a_line;
    for (int i = w - 1; i >= 0; --i) {
        T sum = 0;
        if (col < w) {
            for (int l = i + 1 + lane; l <= col; l += lanes_a_line) sum += r(i, l) * x(l, col);
        }
        sum = sum_over_line(sum);
        if (col < w && lane == 0) x(i, col) = i > col ? T{0} : ((i == col ? T{1} : T{0}) - sum) * inverse[i];
        __syncwarp();
    }
    __syncthreads();
}

/// visit(i, j, (A B)(i, j)) for all elements.
template <class T, class F>
__device__ void multiply(int w, Square<T> a, Square<T> b, F visit) {
    const int row = static_cast<int>(threadIdx.x) / square, col = static_cast<int>(threadIdx.x) % square;
    T sums[per_thread][per_thread] = {};
    for (int l = 0; l < w; ++l) {
        T left[per_thread], right[per_thread];
#pragma unroll
        for (int q = 0; q < per_thread; ++q) {
            left[q] = a(row + q * square, l);
            right[q] = b(l, col + q * square);
        }
#pragma unroll
        for (int p = 0; p < per_thread; ++p) {
#pragma unroll
            for (int q = 0; q < per_thread; ++q) sums[p][q] += left[p] * right[q];
        }
    }
    __syncthreads();  // visit() may overwrite A or B
#pragma unroll
    for (int p = 0; p < per_thread; ++p) {
#pragma unroll
        for (int q = 0; q < per_thread; ++q) {
            const int i = row + p * square, j = col + q * square;
            if (i < w && j < w) visit(i, j, sums[p][q]);
        }
    }
    __syncthreads();
}

/// Whether all columns are of a safe scale and far enough from what the others span.
template <class T>
__device__ bool well_conditioned(int w, Square<T> r, Square<T> x) {
    bool good = true;
    const int i = static_cast<int>(threadIdx.x);
    if (i < w) {
        T column = 0, row = 0;
        for (int l = 0; l <= i; ++l) column += r(l, i) * r(l, i);
        for (int l = i; l < w; ++l) row += x(i, l) * x(i, l);
        good = column >= GramRange<T>::low && column <= GramRange<T>::high &&
               column * row <= static_cast<T>(largest_condition * largest_condition);
    }
    return __syncthreads_and(good) != 0;
}

template <class T>
__global__ void __launch_bounds__(threads) factor_gram_kernel(int w, QrLeafData<T> leaf) {
    __shared__ T inverse[width];
    const Square<T> r = shared_square<T>(0), x = shared_square<T>(1);
    load(w, leaf.gram, w, r);
    const bool positive = cholesky(w, r, inverse);
    invert_upper(w, r, inverse, x);
    const bool good = well_conditioned(w, r, x) && positive;
    for_each_behind(-1, w, [&](int i, int j) {
        leaf.r1[i * w + j] = r(i, j);
        leaf.x[i * w + j] = x(i, j);
    });
    if (threadIdx.x == 0) *leaf.refused = good ? 0 : 1;
}

/// Q - S = L U with S = diag(-sign of the pivots) chosen as they come, so that no pivot is below 1: L below, U above in the place of Q,
/// U's diagonal on it. Columns of L are scaled at the end.
template <class T>
__device__ void factor_without_pivoting(int w, Square<T> q, T* signs, T* inverse) {
    for (int j = 0; j < w; ++j) {
        __syncthreads();
        const T value = q(j, j), sign = value >= 0 ? T{-1} : T{1}, reciprocal = T{1} / (value - sign);
        if (threadIdx.x == 0) {
            signs[j] = sign;
            inverse[j] = reciprocal;
        }
        for_each_behind(j, w, [&](int i, int c) { q(i, c) -= q(i, j) * reciprocal * q(j, c); });
    }
    __syncthreads();
    for_each_behind(-1, w, [&](int i, int c) {
        if (i > c) q(i, c) *= inverse[c];
        if (i == c) q(i, c) -= signs[c];
    });
    __syncthreads();
}

/// T L^T = B for the unit lower triangle of l, T upper triangular in the place of B. Four lanes make a row, from the left.
template <class T>
__device__ void solve_transposed(int w, Square<T> l, Square<T> t) {
    const int row = static_cast<int>(threadIdx.x) / lanes_a_line, lane = static_cast<int>(threadIdx.x) % lanes_a_line;
    for (int j = 0; j < w; ++j) {
        T sum = 0;
        if (row < w) {
            for (int q = row + lane; q < j; q += lanes_a_line) sum += t(row, q) * l(j, q);
        }
        sum = sum_over_line(sum);
        if (row < w && lane == 0) t(row, j) = j < row ? T{0} : t(row, j) - sum;
        __syncwarp();
    }
    __syncthreads();
}

/// Q1 = Q2 R2, Q2's top - S = L U; V = (L, Q1 x) with x = R2^-1 U^-1, R = S R2 R1, T = -U S L^-T.
template <class T>
__global__ void __launch_bounds__(threads) reconstruct_kernel(int w, View<const T> q1_top, QrLeafData<T> leaf) {
    __shared__ T inverse[width], signs[width];
    const Square<T> r2 = shared_square<T>(0), x2 = shared_square<T>(1), lu = shared_square<T>(2), last = shared_square<T>(3);
    load(w, leaf.gram, w, r2);
    load(w, q1_top.data(), q1_top.row_stride(), lu);
    bool good = cholesky(w, r2, inverse);
    invert_upper(w, r2, inverse, x2);
    multiply(w, lu, x2, [&](int i, int j, T value) { lu(i, j) = value; });
    factor_without_pivoting(w, lu, signs, inverse);
    invert_upper(w, lu, inverse, last);
    if (threadIdx.x < w) {
        T row = 0;
        for (int l = static_cast<int>(threadIdx.x); l < w; ++l) row += last(threadIdx.x, l) * last(threadIdx.x, l);
        good = good && row <= static_cast<T>(largest_growth);
    }
    good = __syncthreads_and(good) != 0;
    multiply(w, x2, last, [&](int i, int j, T value) { leaf.x[i * w + j] = value; });
    load(w, leaf.r1, w, x2);
    __syncthreads();
    multiply(w, r2, x2, [&](int i, int j, T value) { leaf.r[i * w + j] = i <= j ? signs[i] * value : T{0}; });
    for_each_behind(-1, w, [&](int i, int j) {
        leaf.top[i * w + j] = i > j ? lu(i, j) : i == j ? T{1} : T{0};
        last(i, j) = i <= j ? -lu(i, j) * signs[j] : T{0};
    });
    __syncthreads();
    solve_transposed(w, lu, last);
    for_each_behind(-1, w, [&](int i, int j) { leaf.t[i * w + j] = last(i, j); });
    if (threadIdx.x == 0 && !good) *leaf.refused = 1;
}

template <class T>
__global__ void __launch_bounds__(threads) take_kernel(View<const T> below, View<T> v, QrLeafData<T> leaf) {
    if (*leaf.refused != 0) return;
    const int w = static_cast<int>(v.cols());
    const Index step = static_cast<Index>(gridDim.x) * threads;
    for (Index n = static_cast<Index>(blockIdx.x) * threads + threadIdx.x; n < v.rows() * w; n += step) {
        const Index i = n / w, j = n % w;
        v(i, j) = i < w ? leaf.top[n] : below(i - w, j);
    }
}

template <class T>
__global__ void __launch_bounds__(threads)
    place_kernel(View<T> above, View<T> r_above, View<T> r, View<T> t, QrLeafData<T> leaf) {
    const Index w = r.cols();
    for (Index i = blockIdx.x; i < above.rows() + w; i += gridDim.x) {
        for (Index j = threadIdx.x; j < w; j += threads) {
            if (i < above.rows()) {
                r_above(i, j) = above(i, j);
                above(i, j) = T{0};
            } else {
                const Index row = i - above.rows();
                r(row, j) = leaf.r[row * w + j];
                t(row, j) = leaf.t[row * w + j];
            }
        }
    }
}

template <class T, class Kernel, class... Argument>
void launch_alone(Stream stream, const char* name, Kernel kernel, int squares, Argument... argument) {
    const std::size_t bytes = bytes_of_squares<T>(squares);
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
          "cudaFuncSetAttribute", stream);
    kernel<<<1, threads, bytes, native(stream)>>>(argument...);
    check_launch(name, stream);
}

}  // namespace

template <class T>
void factor_gram(Stream stream, int w, QrLeafData<T> leaf) {
    launch_alone<T>(stream, "factor_gram_kernel", factor_gram_kernel<T>, 2, w, leaf);
}

template <class T>
void reconstruct_reflectors(Stream stream, int w, View<const T> q1_top, QrLeafData<T> leaf) {
    launch_alone<T>(stream, "reconstruct_kernel", reconstruct_kernel<T>, 4, w, q1_top, leaf);
}

template <class T>
void take_reflectors(Stream stream, View<const T> below, View<T> v, QrLeafData<T> leaf) {
    constexpr Index most_blocks = 1056;
    const auto blocks = static_cast<unsigned>(std::min(divide_up(v.rows() * v.cols(), threads), most_blocks));
    take_kernel<T><<<blocks, threads, 0, native(stream)>>>(below, v, leaf);
    check_launch("take_kernel", stream);
}

template <class T>
void place_leaf(Stream stream, View<T> above, View<T> r_above, View<T> r, View<T> t, QrLeafData<T> leaf) {
    place_kernel<T><<<static_cast<unsigned>(above.rows() + r.rows()), threads, 0, native(stream)>>>(above, r_above, r, t, leaf);
    check_launch("place_kernel", stream);
}

template void factor_gram<float>(Stream, int, QrLeafData<float>);
template void factor_gram<double>(Stream, int, QrLeafData<double>);
template void reconstruct_reflectors<float>(Stream, int, View<const float>, QrLeafData<float>);
template void reconstruct_reflectors<double>(Stream, int, View<const double>, QrLeafData<double>);
template void take_reflectors<float>(Stream, View<const float>, View<float>, QrLeafData<float>);
template void take_reflectors<double>(Stream, View<const double>, View<double>, QrLeafData<double>);
template void place_leaf<float>(Stream, View<float>, View<float>, View<float>, View<float>, QrLeafData<float>);
template void place_leaf<double>(Stream, View<double>, View<double>, View<double>, View<double>, QrLeafData<double>);

}  // namespace basalt::cuda_detail
