#include <algorithm>
#include <cassert>

#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/triangle/square.cuh"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/matrix.hpp"

namespace basalt::on_stream {

namespace {

using cuda_detail::for_each_element;

// Every conversion is a batch of transpositions: to the device, a column-major array is a row-major one of
// its transpose.

constexpr int side = cuda_detail::square_side;

/// Row-major matrices at two strides: batch b is number b % inner_count of group b / inner_count.
template <class T>
struct Batch {
    T* data;
    Index ld;
    Index stride;
    Index inner_stride = 0;
    Index inner_count = 1;

    __device__ T* matrix(Index b) const { return data + b / inner_count * stride + b % inner_count * inner_stride; }
};

struct Extent {
    Index rows;
    Index cols;
    __device__ bool holds(Index row, Index col) const { return row < rows && col < cols; }
};

/// Equal matrices without padding.
struct Whole {
    Extent all;

    __device__ Extent read(Index) const { return all; }
    __device__ Extent written(Index) const { return all; }
    __device__ bool one(Index, Index, Index) const { return false; }
};

/// Dealt tile columns of an m x n matrix: how wide the b-th is without padding.
struct DealtWidths {
    Index m, n, width;
    TileDeal deal;

    __device__ Index first_col(Index b) const { return deal.column(b) * width; }
    __device__ Index true_width(Index b) const { return min(n - first_col(b), width); }
};

/// Some columns of one tile column of a matrix of m rows: the first is column `first` of the matrix, and `cols` of them
/// are true.
struct StripWidths {
    Index m, first, width, cols;

    __device__ Index first_col(Index) const { return first; }
    __device__ Index true_width(Index) const { return cols; }
};

/// From columns to tile columns: row r of the source is column r of the target, which is written with its
/// padding.
template <class Widths>
struct Packing {
    Widths widths;
    Index padded_rows;

    __device__ Extent read(Index b) const { return {widths.true_width(b), widths.m}; }
    __device__ Extent written(Index) const { return {widths.width, padded_rows}; }
    /// Whether the padding at row r, column c of the source's storage is 1: the corner of [A 0; 0 E].
    __device__ bool one(Index b, Index r, Index c) const {
        return r >= widths.true_width(b) && c >= widths.m && widths.first_col(b) + r == c;
    }
};

/// From tile columns to columns.
struct Unpacking {
    DealtWidths widths;

    __device__ Extent read(Index b) const { return {widths.m, widths.true_width(b)}; }
    __device__ Extent written(Index b) const { return read(b); }
    __device__ bool one(Index, Index, Index) const { return false; }
};

/// target(c, r) = source(r, c), or the padding where the source has no such element.
template <class T, class Shape>
__global__ void __launch_bounds__(cuda_detail::square_threads, cuda_detail::square_blocks)
    transpose_kernel(Batch<const T> source, Batch<T> target, Index batches, Index rows, Shape shape) {
    __shared__ T square[side][side + 1];
    const Index col0 = static_cast<Index>(blockIdx.x) * side;
    const int line = static_cast<int>(threadIdx.y), lane = static_cast<int>(threadIdx.x);
    const auto transpose_square = [&](Index b, Index row0) {
        const Extent read = shape.read(b), written = shape.written(b);
        // inside, no element is asked whether there is one, so that a thread has all its reads on their way at once
        const Index last_row = row0 + side - 1, last_col = col0 + side - 1;
        const bool whole = read.holds(last_row, last_col) && written.holds(last_row, last_col);
        const T* const from = source.matrix(b) + (row0 + line) * source.ld + col0 + lane;
        T* const to = target.matrix(b) + (col0 + line) * target.ld + row0 + lane;
        const auto load = [&](int i, int j) { square[i + line][j + lane] = from[i * source.ld + j]; };
        const auto element = [&](int i, int j) { return square[j + lane][i + line]; };
        if (whole) {
            for_each_element(load);
        } else {
            for_each_element([&](int i, int j) {
                if (read.holds(row0 + i + line, col0 + j + lane)) load(i, j);
            });
        }
        __syncthreads();
        if (whole) {
            for_each_element([&](int i, int j) { to[i * target.ld + j] = element(i, j); });
        } else {
            for_each_element([&](int i, int j) {
                const Index row = row0 + j + lane, col = col0 + i + line;
                if (!written.holds(row, col)) return;
                to[i * target.ld + j] = read.holds(row, col) ? element(i, j) : T(shape.one(b, row, col));
            });
        }
        __syncthreads();
    };
    for (Index b = blockIdx.z; b < batches; b += gridDim.z) {
        for (Index row0 = static_cast<Index>(blockIdx.y) * side; row0 < rows;
             row0 += static_cast<Index>(gridDim.y) * side) {
            transpose_square(b, row0);
        }
    }
}

/// `largest`: what the matrices of the source are at most, padding included.
template <class T, class Shape>
void transpose(Stream stream, Batch<const T> source, Batch<T> target, Index batches, Extent largest, Shape shape) {
    if (batches <= 0 || largest.rows <= 0 || largest.cols <= 0) return;
    const dim3 threads(cuda_detail::square_lanes, cuda_detail::square_lines);
    transpose_kernel<T><<<cuda_detail::blocks(cuda_detail::transposition_grid(largest.rows, largest.cols, batches)),
                          threads, 0, cuda_detail::native(stream)>>>(source, target, batches, largest.rows, shape);
    cuda_detail::check_launch("transpose_kernel", stream);
}

DealtWidths widths_of(const TileGrid& grid, TileDeal deal) {
    return {grid.rows(), grid.cols(), grid.shape().width, deal};
}

/// The padding of some columns of a tile column.
template <class T>
__global__ void __launch_bounds__(cuda_detail::copy_threads) padding_kernel(View<T> target, StripWidths widths) {
    for (Index i = blockIdx.y; i < target.rows(); i += gridDim.y) {
        for (Index c = (i < widths.m ? widths.cols : 0) + threadIdx.x; c < target.cols();
             c += cuda_detail::copy_threads)
            target(i, c) = T(i >= widths.m && c >= widths.cols && widths.first + c == i);
    }
}

/// Of rows that lie as they do in the tile column.
template <class T>
void pack_rows(Stream stream, View<const T> source, View<T> target, const StripWidths& widths) {
    copy_elements<T>(stream, source, target.block(0, 0, source.rows(), source.cols()));
    if (target.rows() == source.rows() && target.cols() == source.cols()) return;
    padding_kernel<T><<<cuda_detail::blocks(cuda_detail::padding_grid(1, target.rows())), cuda_detail::copy_threads, 0,
                        cuda_detail::native(stream)>>>(target, widths);
    cuda_detail::check_launch("padding_kernel", stream);
}

/// Whether rows of the array lie as they do in the tile columns.
template <class T>
bool has_rows(const View<T>& array) {
    return array.row_stride() != 1 && array.col_stride() == 1;
}

}  // namespace

template <class T>
void run_on_gpu(PackTileColumns<T>, Stream stream, const TileGrid& grid, TileDeal deal, View<const T> source,
                TileColumns<T> target) {
    assert(source.cols() == dealt_cols(grid, deal, target.columns) && source.rows() == grid.rows());
    assert(target.rows == grid.padded_rows());
    if (target.empty()) return;
    const Index width = grid.shape().width;
    if (has_rows(source)) {
        for (Index l = 0; l < target.columns; ++l) {
            const View<const T> columns = source.block(0, l * width, source.rows(), dealt_width(grid, deal, l));
            pack_columns<T>(stream, grid, deal.column(l), 0, columns, target.column(l));
        }
        return;
    }
    assert(source.row_stride() == 1 || source.rows() <= 1);
    transpose<T>(stream, {source.data(), source.col_stride(), source.col_stride() * width},
                 {target.data, target.ld, target.stride}, target.columns, {width, target.rows},
                 Packing<DealtWidths>{widths_of(grid, deal), target.rows});
}

template <class T>
void run_on_gpu(UnpackTileColumns<T>, Stream stream, const TileGrid& grid, TileDeal deal, TileColumns<const T> source,
                View<T> target) {
    assert(target.cols() == dealt_cols(grid, deal, source.columns) && target.rows() == grid.rows());
    assert(source.rows == grid.padded_rows() && target.row_stride() == 1);
    const Index width = grid.shape().width;
    transpose<T>(stream, {source.data, source.ld, source.stride},
                 {target.data(), target.col_stride(), target.col_stride() * width}, source.columns,
                 {grid.rows(), width}, Unpacking{widths_of(grid, deal)});
}

template <class T>
void run_on_gpu(PackColumns<T>, Stream stream, const TileGrid& grid, Index j, Index first, View<const T> source,
                View<T> target) {
    assert(source.rows() == grid.rows() && source.cols() <= target.cols());
    assert(target.rows() == grid.padded_rows() && (target.col_stride() == 1 || target.cols() <= 1));
    if (target.empty()) return;
    const StripWidths widths{grid.rows(), grid.first_col(j) + first, target.cols(), source.cols()};
    if (has_rows(source)) return pack_rows<T>(stream, source, target, widths);
    assert(source.row_stride() == 1 || source.rows() <= 1);
    transpose<T>(stream, {source.data(), source.col_stride(), 0}, {target.data(), target.row_stride(), 0}, 1,
                 {target.cols(), target.rows()}, Packing<StripWidths>{widths, target.rows()});
}

template <class T>
void run_on_gpu(UnpackWindow<T>, Stream stream, View<const T> source, View<T> target) {
    assert(source.rows() == target.rows() && source.cols() == target.cols());
    assert(source.cols() <= 1 || source.col_stride() == 1);
    if (target.row_stride() != 1 && target.col_stride() == 1) return copy_elements<T>(stream, source, target);
    assert(target.rows() <= 1 || target.row_stride() == 1);
    const Extent all{source.rows(), source.cols()};
    transpose<T>(stream, {source.data(), source.row_stride(), 0}, {target.data(), target.col_stride(), 0}, 1, all,
                 Whole{all});
}

template <class T>
void run_on_gpu(PackInPlace<T>, Stream stream, const TileGrid& grid, T* memory, T* buffer) {
    const auto packed = stored_tile_columns(grid, buffer, 1);
    for (Index j = 0; j < grid.tile_cols(); ++j) {
        const auto column = stored_tile_columns(grid, memory + j * grid.tile_column_size(), 1);
        pack_tile_columns<T>(stream, grid, {j, 1},
                             View<T>::column_major(column.data, grid.rows(), grid.tile_width(j), grid.padded_rows()),
                             packed);
        copy_tile_columns<T>(stream, packed, column);
    }
}

template <class T>
void run_on_gpu(UnpackInPlace<T>, Stream stream, const TileGrid& grid, T* memory, T* buffer) {
    const auto unpacked = stored_tile_columns(grid, buffer, 1);
    for (Index j = 0; j < grid.tile_cols(); ++j) {
        const auto column = stored_tile_columns(grid, memory + j * grid.tile_column_size(), 1);
        unpack_tile_columns<T>(stream, grid, {j, 1}, column,
                               View<T>::column_major(buffer, grid.rows(), grid.tile_width(j), grid.padded_rows()));
        copy_tile_columns<T>(stream, unpacked, column);
    }
}

template <class T>
void run_on_gpu(ReorderTiles<T>, Stream stream, TileShape shape, ElementOrder order, TileColumns<const T> source,
                TileColumns<T> target) {
    assert(source.columns == target.columns && source.rows == target.rows && source.rows % shape.height == 0);
    assert(source.ld == shape.width && target.ld == shape.width && source.width == shape.width);
    const bool from_rows = order == ElementOrder::row_major;
    const Extent tile = from_rows ? Extent{shape.height, shape.width} : Extent{shape.width, shape.height};
    const Index tiles = source.rows / shape.height, size = shape.height * shape.width;
    transpose<T>(stream, {source.data, tile.cols, source.stride, size, tiles},
                 {target.data, tile.rows, target.stride, size, tiles}, source.columns * tiles, tile, Whole{tile});
}

template <>
const PackTileColumns<float>::Gpu Code<PackTileColumns<float>>::gpu = gpu_code<PackTileColumns<float>>;
template <>
const PackTileColumns<double>::Gpu Code<PackTileColumns<double>>::gpu = gpu_code<PackTileColumns<double>>;
template <>
const UnpackTileColumns<float>::Gpu Code<UnpackTileColumns<float>>::gpu = gpu_code<UnpackTileColumns<float>>;
template <>
const UnpackTileColumns<double>::Gpu Code<UnpackTileColumns<double>>::gpu = gpu_code<UnpackTileColumns<double>>;
template <>
const PackColumns<float>::Gpu Code<PackColumns<float>>::gpu = gpu_code<PackColumns<float>>;
template <>
const PackColumns<double>::Gpu Code<PackColumns<double>>::gpu = gpu_code<PackColumns<double>>;
template <>
const UnpackWindow<float>::Gpu Code<UnpackWindow<float>>::gpu = gpu_code<UnpackWindow<float>>;
template <>
const UnpackWindow<double>::Gpu Code<UnpackWindow<double>>::gpu = gpu_code<UnpackWindow<double>>;
template <>
const PackInPlace<float>::Gpu Code<PackInPlace<float>>::gpu = gpu_code<PackInPlace<float>>;
template <>
const PackInPlace<double>::Gpu Code<PackInPlace<double>>::gpu = gpu_code<PackInPlace<double>>;
template <>
const UnpackInPlace<float>::Gpu Code<UnpackInPlace<float>>::gpu = gpu_code<UnpackInPlace<float>>;
template <>
const UnpackInPlace<double>::Gpu Code<UnpackInPlace<double>>::gpu = gpu_code<UnpackInPlace<double>>;
template <>
const ReorderTiles<float>::Gpu Code<ReorderTiles<float>>::gpu = gpu_code<ReorderTiles<float>>;
template <>
const ReorderTiles<double>::Gpu Code<ReorderTiles<double>>::gpu = gpu_code<ReorderTiles<double>>;

}  // namespace basalt::on_stream
