#include "kernels/cuda/triangle_copy.hpp"

#include <algorithm>
#include <cassert>

#include "kernels/cuda/launch.cuh"

namespace basalt::cuda_kernels {

namespace {

using cuda_detail::divide_up;

constexpr int side = 32;  // of the square that a block moves through shared memory
constexpr int lines = 8;

struct Part {
    bool lower;
    Index offset;

    __device__ bool holds(Index i, Index j) const { return lower ? i >= j + offset : i <= j + offset; }
    /// Whether any element of the square from (i, j) on belongs to it.
    __device__ bool meets(Index i, Index j) const { return lower ? holds(i + side - 1, j) : holds(i, j + side - 1); }
};

/// Lanes follow the contiguous direction of whichever matrix they read or write.
template <class T>
__global__ void __launch_bounds__(side* lines) copy_triangle_kernel(View<const T> source, View<T> target, Part part) {
    __shared__ T square[side][side + 1];
    const Index col0 = static_cast<Index>(blockIdx.x) * side;
    for (Index row0 = static_cast<Index>(blockIdx.y) * side; row0 < source.rows();
         row0 += static_cast<Index>(gridDim.y) * side) {
        if (!part.meets(row0, col0)) continue;
        const auto visit = [&](bool along_rows, auto use) {
#pragma unroll
            for (int line = threadIdx.y; line < side; line += lines) {
                const int r = along_rows ? line : static_cast<int>(threadIdx.x);
                const int c = along_rows ? static_cast<int>(threadIdx.x) : line;
                const Index i = row0 + r, j = col0 + c;
                if (i < source.rows() && j < source.cols() && part.holds(i, j)) use(r, c, i, j);
            }
        };
        visit(source.col_stride() == 1, [&](int r, int c, Index i, Index j) { square[r][c] = source(i, j); });
        __syncthreads();
        visit(target.col_stride() == 1, [&](int r, int c, Index i, Index j) { target(i, j) = square[r][c]; });
        __syncthreads();
    }
}

}  // namespace

template <class T>
void copy_triangle(Stream stream, Triangle triangle, Index offset, std::type_identity_t<View<const T>> source,
                   View<T> target) {
    assert(source.rows() == target.rows() && source.cols() == target.cols());
    if (source.empty()) return;
    constexpr Index most_blocks = 65535;
    const dim3 blocks(static_cast<unsigned>(divide_up(source.cols(), side)),
                      static_cast<unsigned>(std::min(divide_up(source.rows(), side), most_blocks)));
    copy_triangle_kernel<T><<<blocks, dim3(side, lines), 0, cuda_detail::native(stream)>>>(
        source, target, Part{triangle == Triangle::lower, offset});
    cuda_detail::check_launch("copy_triangle_kernel", stream);
}

template void copy_triangle<float>(Stream, Triangle, Index, View<const float>, View<float>);
template void copy_triangle<double>(Stream, Triangle, Index, View<const double>, View<double>);

}  // namespace basalt::cuda_kernels
