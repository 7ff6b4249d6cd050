#include <cassert>

#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/triangle/square.cuh"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/triangle.hpp"

namespace basalt::on_stream {

namespace {

using cuda_detail::for_each_element;

constexpr int side = cuda_detail::square_side;

struct Part {
    Index rows, cols;
    bool lower;
    Index offset;

    __device__ bool holds(Index i, Index j) const { return lower ? i >= j + offset : i <= j + offset; }
    /// Whether all, or any, of the square from (i, j) on belongs to it.
    __device__ bool covers(Index i, Index j) const {
        return i + side <= rows && j + side <= cols && (lower ? holds(i, j + side - 1) : holds(i + side - 1, j));
    }
    __device__ bool meets(Index i, Index j) const { return lower ? holds(i + side - 1, j) : holds(i, j + side - 1); }
};

/// A matrix by its lines, rows or columns, whose elements are contiguous.
template <class T>
struct Lines {
    T* data;
    Index apart;
    bool are_rows;

    explicit Lines(View<T> a)
        : data(a.data()), apart(a.col_stride() == 1 ? a.row_stride() : a.col_stride()), are_rows(a.col_stride() == 1) {}
    /// The thread's first element of the square from (i, j) on.
    __device__ T* at(Index i, Index j) const {
        return data + ((are_rows ? i : j) + threadIdx.y) * apart + (are_rows ? j : i) + threadIdx.x;
    }
};

/// The square in shared memory by the lines of a matrix: the thread's first element, and steps to the next ones.
template <class T>
struct Square {
    T* first;
    int line, element;

    __device__ Square(T* memory, bool are_rows)
        : first(memory), line(are_rows ? side + 1 : 1), element(are_rows ? 1 : side + 1) {
        first += static_cast<int>(threadIdx.y) * line + static_cast<int>(threadIdx.x) * element;
    }
};

/// Lanes follow the contiguous direction of whichever matrix they read or write. Inside the triangle no element is
/// asked whether it belongs there, so that a thread has all its reads on their way at once.
template <class T>
__global__ void __launch_bounds__(cuda_detail::square_threads, cuda_detail::square_blocks)
    copy_triangle_kernel(Lines<const T> source, Lines<T> target, Part part) {
    __shared__ T memory[side * (side + 1)];
    const Square<T> written(memory, source.are_rows), read(memory, target.are_rows);
    const Index col0 = static_cast<Index>(blockIdx.x) * side;
    for (Index row0 = static_cast<Index>(blockIdx.y) * side; row0 < part.rows;
         row0 += static_cast<Index>(gridDim.y) * side) {
        if (!part.meets(row0, col0)) continue;
        const bool whole = part.covers(row0, col0);
        const auto belongs = [&](bool are_rows, int i, int j) {
            const int line = i + static_cast<int>(threadIdx.y), element = j + static_cast<int>(threadIdx.x);
            const Index row = row0 + (are_rows ? line : element), col = col0 + (are_rows ? element : line);
            return row < part.rows && col < part.cols && part.holds(row, col);
        };
        const T* const from = source.at(row0, col0);
        const auto load = [&](int i, int j) {
            written.first[i * written.line + j * written.element] = from[i * source.apart + j];
        };
        if (whole) {
            for_each_element(load);
        } else {
            for_each_element([&](int i, int j) {
                if (belongs(source.are_rows, i, j)) load(i, j);
            });
        }
        __syncthreads();
        T* const to = target.at(row0, col0);
        const auto store = [&](int i, int j) {
            to[i * target.apart + j] = read.first[i * read.line + j * read.element];
        };
        if (whole) {
            for_each_element(store);
        } else {
            for_each_element([&](int i, int j) {
                if (belongs(target.are_rows, i, j)) store(i, j);
            });
        }
        __syncthreads();
    }
}

/// Lines of `length` contiguous elements, of which each has zeros from its beginning to an edge, or from there on: that
/// of line n is n + first_edge.
template <class T>
__global__ void __launch_bounds__(cuda_detail::zero_threads)
    zero_triangle_kernel(Lines<T> lines, Index count, Index length, Index first_edge, bool from_edge) {
    for (Index line = blockIdx.x; line < count; line += gridDim.x) {
        const Index edge = min(max(line + first_edge, Index{0}), length);
        const Index begin = from_edge ? edge : 0, end = from_edge ? length : edge;
        for (Index i = begin + threadIdx.x; i < end; i += cuda_detail::zero_threads) {
            lines.data[line * lines.apart + i] = T{0};
        }
    }
}

}  // namespace

template <class T>
void run_on_gpu(CopyTriangle<T>, Stream stream, Triangle triangle, Index offset, View<const T> source, View<T> target) {
    assert(source.rows() == target.rows() && source.cols() == target.cols());
    if (source.empty()) return;
    const auto blocks = cuda_detail::blocks(cuda_detail::triangle_copy_grid(source.rows(), source.cols()));
    const dim3 threads(cuda_detail::square_lanes, cuda_detail::square_lines);
    const Part part{source.rows(), source.cols(), triangle == Triangle::lower, offset};
    copy_triangle_kernel<T>
        <<<blocks, threads, 0, cuda_detail::native(stream)>>>(Lines<const T>(source), Lines<T>(target), part);
    cuda_detail::check_launch("copy_triangle_kernel", stream);
}

template <class T>
void run_on_gpu(ZeroTriangle<T>, Stream stream, Triangle triangle, Index offset, View<T> target) {
    if (target.empty()) return;
    const Lines<T> lines(target);
    // by rows it is the other triangle of the transpose
    const bool lower = (triangle == Triangle::lower) != lines.are_rows;
    const Index below = lines.are_rows ? -offset : offset;
    const Index count = lines.are_rows ? target.rows() : target.cols();
    const Index length = lines.are_rows ? target.cols() : target.rows();
    zero_triangle_kernel<T><<<cuda_detail::blocks(cuda_detail::zero_grid(count)), cuda_detail::zero_threads, 0,
                              cuda_detail::native(stream)>>>(lines, count, length, lower ? below : below + 1, lower);
    cuda_detail::check_launch("zero_triangle_kernel", stream);
}

template <>
const CopyTriangle<float>::Gpu Code<CopyTriangle<float>>::gpu = gpu_code<CopyTriangle<float>>;
template <>
const CopyTriangle<double>::Gpu Code<CopyTriangle<double>>::gpu = gpu_code<CopyTriangle<double>>;
template <>
const ZeroTriangle<float>::Gpu Code<ZeroTriangle<float>>::gpu = gpu_code<ZeroTriangle<float>>;
template <>
const ZeroTriangle<double>::Gpu Code<ZeroTriangle<double>>::gpu = gpu_code<ZeroTriangle<double>>;

}  // namespace basalt::on_stream
