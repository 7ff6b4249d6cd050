#include <algorithm>
#include <cmath>
#include <cstddef>

#include <cooperative_groups.h>

#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/qr/leaf.hpp"
#include "kernels/reflector.hpp"

namespace basalt::cuda_detail {

namespace {

constexpr Index rows_a_block = 256;  // with fewer rows, another block costs more in barriers than it saves

/// Rows that a block's threads are at, a column each: many where the leaf is in memory and not in a cache.
constexpr int lanes_of(int width) { return width == qr_leaf_width ? 4 : 8; }

/// What blocks tell each other of a column, in alternation between two places: each its sums, one of them the
/// diagonal's row.
template <int width, class T>
struct Meeting {
    T* memory;
    __device__ T* sums(int parity, int block) const {
        return memory + (parity * static_cast<Index>(gridDim.x) + block) * width;
    }
    __device__ T* row(int parity) const { return memory + (2 * static_cast<Index>(gridDim.x) + parity) * width; }
};

/// A block's rows of the leaf.
template <int width, class T>
struct OwnRows {
    View<T> v;
    Index begin;
    Index end;

    /// The first of this thread's rows behind row `first`.
    __device__ Index behind(Index first) const {
        return max(begin, first + 1) + static_cast<Index>(threadIdx.x) / width;
    }
};

/// Scales each column so that its maximum over all blocks is about 1: by 2^exponents[c].
template <int width, class T>
__device__ void scale(const OwnRows<width, T>& own, const Meeting<width, T>& meeting, T (*part)[width],
                      int* exponents) {
    constexpr int lanes = lanes_of(width);
    const int c = static_cast<int>(threadIdx.x) % width, lane = static_cast<int>(threadIdx.x) / width,
              w = static_cast<int>(own.v.cols());
    T most = 0;
    for (Index i = own.behind(-1); c < w && i < own.end; i += lanes) most = max(most, abs(own.v(i, c)));
    part[lane][c] = most;
    __syncthreads();
    if (lane == 0) {
        for (int l = 1; l < lanes; ++l) most = max(most, part[l][c]);
        meeting.sums(0, static_cast<int>(blockIdx.x))[c] = most;
    }
    cooperative_groups::this_grid().sync();
    if (lane == 0) {
        most = 0;
        for (int block = 0; block < static_cast<int>(gridDim.x); ++block) most = max(most, meeting.sums(0, block)[c]);
        exponents[c] = scaling_exponent(most);
    }
    __syncthreads();
    for (Index i = own.behind(-1); c < w && exponents[c] != 0 && i < own.end; i += lanes)
        own.v(i, c) = ldexp(own.v(i, c), exponents[c]);
    __syncthreads();
}

/// values[c] = the sum over the rows below j of v(i, j) v(i, c); row j is there for all as well.
template <int width, class T>
__device__ void meet(int j, int parity, const OwnRows<width, T>& own, const Meeting<width, T>& meeting,
                     T (*part)[width], T* values) {
    constexpr int lanes = lanes_of(width);
    const int c = static_cast<int>(threadIdx.x) % width, lane = static_cast<int>(threadIdx.x) / width,
              w = static_cast<int>(own.v.cols());
    T sum = 0;
    for (Index i = own.behind(j); c < w && i < own.end; i += lanes) sum += own.v(i, j) * own.v(i, c);
    part[lane][c] = sum;
    __syncthreads();
    if (lane == 0) {
        for (int l = 1; l < lanes; ++l) sum += part[l][c];
        meeting.sums(parity, static_cast<int>(blockIdx.x))[c] = sum;
    }
    if (lane == 1 && c < w && j >= own.begin && j < own.end) meeting.row(parity)[c] = own.v(j, c);
    cooperative_groups::this_grid().sync();
    sum = 0;
    for (int block = lane; block < static_cast<int>(gridDim.x); block += lanes) sum += meeting.sums(parity, block)[c];
    part[lane][c] = sum;
    __syncthreads();
    if (lane == 0) {
        for (int l = 1; l < lanes; ++l) sum += part[l][c];
        values[c] = sum;
    }
    __syncthreads();
}

/// Column j of T: -tau_j T(0:j, 0:j) (V^T v_j)
template <int width, class T>
__device__ void extend_triangle(int j, const Reflector<T>& h, const T* row, const T* values, T* products,
                                T (*t)[width + 1]) {
    const int k = static_cast<int>(threadIdx.x);
    if (k < j) products[k] = h.tau == 0 ? T{0} : row[k] + h.scale * values[k];
    __syncthreads();
    if (k >= width) return;
    T sum = 0;
    for (int l = k; l < j; ++l) sum += t[k][l] * products[l];
    t[k][j] = k < j ? -h.tau * sum : k == j ? h.tau : T{0};
}

extern __shared__ __align__(16) unsigned char triangle_bytes[];

template <int width, class T>
constexpr std::size_t triangle_size = sizeof(T) * width*(width + 1);

template <int width, class T>
__global__ void __launch_bounds__(width* lanes_of(width))
    householder_kernel(View<T> v, QrLeafData<T> leaf, T* workspace) {
    constexpr int lanes = lanes_of(width), threads = width * lanes;
    __shared__ T part[lanes][width], values[width], products[width];
    __shared__ int exponents[width];
    auto* const t = reinterpret_cast<T(*)[width + 1]>(triangle_bytes);
    if (*leaf.way != QrLeafWay::householder) return;  // the same for all blocks
    const int c = static_cast<int>(threadIdx.x) % width, lane = static_cast<int>(threadIdx.x) / width,
              w = static_cast<int>(v.cols());
    const Index share = divide_up(v.rows(), static_cast<Index>(gridDim.x)), begin = min(v.rows(), share * blockIdx.x);
    const OwnRows<width, T> own{v, begin, min(v.rows(), begin + share)};
    const Meeting<width, T> meeting{workspace};
    scale<width>(own, meeting, part, exponents);
    for (int j = 0; j < w; ++j) {
        const int parity = (j + 1) % 2;
        meet<width>(j, parity, own, meeting, part, values);
        const T* const row = meeting.row(parity);
        const Reflector<T> h = make_reflector(row[j], values[j]);
        const T factor = c > j && c < w && h.tau != 0 ? h.tau * (row[c] + h.scale * values[c]) : T{0};
        if (c > j && c < w && h.tau != 0) {
            for (Index i = own.behind(j); i < own.end; i += lanes) own.v(i, c) -= h.scale * own.v(i, j) * factor;
        }
        if (blockIdx.x == 0) extend_triangle<width>(j, h, row, values, products, t);
        __syncthreads();  // column j is read above
        for (Index i = max(own.begin, Index{j} + 1) + threadIdx.x; i < own.end; i += threads) {
            own.v(i, j) = h.tau == 0 ? T{0} : own.v(i, j) * h.scale;
        }
        if (j >= own.begin && j < own.end && lane == 0 && c < w) {
            leaf.r[j * w + c] = c < j ? T{0} : ldexp(c == j ? h.beta : row[c] - factor, -exponents[c]);
            if (c >= j) v(j, c) = c == j ? T{1} : T{0};
        }
        __syncthreads();
    }
    if (blockIdx.x > 0) return;
    for (int n = static_cast<int>(threadIdx.x); n < w * w; n += threads) leaf.t[n] = t[n / w][n % w];
}

template <int width, class T>
void launch(Stream stream, View<T> v, QrLeafData<T> leaf, T* workspace, Index most_blocks) {
    allow_shared(reinterpret_cast<const void*>(&householder_kernel<width, T>), triangle_size<width, T>, stream);
    cudaLaunchAttribute together{};
    together.id = cudaLaunchAttributeCooperative;
    together.val.cooperative = 1;
    cudaLaunchConfig_t shape{};
    shape.gridDim = blocks(shared_rows_grid(v.rows(), rows_a_block, most_blocks));
    shape.blockDim = width * lanes_of(width);
    shape.dynamicSmemBytes = triangle_size<width, T>;
    shape.stream = native(stream);
    shape.attrs = &together;
    shape.numAttrs = 1;
    check(cudaLaunchKernelEx(&shape, householder_kernel<width, T>, v, leaf, workspace), "householder_kernel", stream);
}

}  // namespace

bool wide_leaves_fit(Stream stream) {
    constexpr int besides = 16384;  // what the kernel has in fixed places
    int device = 0, shared = 0;
    check(cudaGetDevice(&device), "cudaGetDevice", stream);
    check(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "cudaDeviceGetAttribute",
          stream);
    return shared >= static_cast<int>(triangle_size<qr_wide_width, double>) + besides;
}

template <class T>
void factor_by_householder(Stream stream, View<T> v, QrLeafData<T> leaf, T* workspace) {
    constexpr Index few_blocks = 64;
    const Index multiprocessors = stream.context()->multiprocessors;
    if (v.cols() <= qr_leaf_width) {
        launch<qr_leaf_width>(stream, v, leaf, workspace, std::min(multiprocessors, few_blocks));
    } else {
        launch<qr_wide_width>(stream, v, leaf, workspace, multiprocessors);
    }
}

template void factor_by_householder<float>(Stream, View<float>, QrLeafData<float>, float*);
template void factor_by_householder<double>(Stream, View<double>, QrLeafData<double>, double*);

}  // namespace basalt::cuda_detail
