#include <algorithm>
#include <cassert>

#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/matrix/words.cuh"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/matrix.hpp"

namespace basalt::on_stream {

namespace {

using cuda_detail::divide_up;

constexpr int threads = cuda_detail::copy_threads;
constexpr int rows_a_block = cuda_detail::copied_rows;

/// Blocks of rows_a_block rows by `threads` words; those side by side in all tile columns are numbered in
/// blockIdx.x.
template <class Word>
__global__ void __launch_bounds__(threads)
    copy_kernel(TileColumns<Word> source, TileColumns<Word> target, Index segments_a_row) {
    const Index l = blockIdx.x / segments_a_row;
    const Index word = blockIdx.x % segments_a_row * threads + threadIdx.x;
    if (word >= target.width) return;
    const Word* const from = source.data + l * source.stride + word;
    Word* const to = target.data + l * target.stride + word;
    const Index step = static_cast<Index>(gridDim.y) * rows_a_block;
    for (Index first = static_cast<Index>(blockIdx.y) * rows_a_block; first < target.rows; first += step) {
        Word moving[rows_a_block];
#pragma unroll
        for (int r = 0; r < rows_a_block; ++r) {
            if (first + r < target.rows) moving[r] = from[(first + r) * source.ld];
        }
#pragma unroll
        for (int r = 0; r < rows_a_block; ++r) {
            if (first + r < target.rows) to[(first + r) * target.ld] = moving[r];
        }
    }
}

template <class Word, class T>
void copy_words(Stream stream, const TileColumns<const T>& source, const TileColumns<T>& target) {
    const auto from = cuda_detail::in_words<Word>(source), to = cuda_detail::in_words<Word>(target);
    const auto grid = cuda_detail::copy_grid(to.columns, to.rows, to.width);
    copy_kernel<<<cuda_detail::blocks(grid), threads, 0, cuda_detail::native(stream)>>>(from, to,
                                                                                        divide_up(to.width, threads));
}

/// Whether the elements lie one behind the other without gaps.
template <class T>
bool dense(const TileColumns<T>& a) {
    return a.ld == a.width && (a.columns == 1 || a.stride == a.rows * a.width);
}

}  // namespace

template <class T>
void run_on_gpu(CopyElements<T>, Stream stream, View<const T> source, View<T> target) {
    assert(target.cols() <= 1 || (source.col_stride() == 1 && target.col_stride() == 1));
    copy_tile_columns<T>(stream, one_tile_column(source), one_tile_column(target));
}

template <class T>
void run_on_gpu(CopyTileColumns<T>, Stream stream, TileColumns<const T> source, TileColumns<T> target) {
    assert(source.columns == target.columns && source.rows == target.rows && source.width == target.width);
    if (target.empty()) return;
    if (dense(source) && dense(target)) {
        const auto bytes = sizeof(T) * static_cast<std::size_t>(target.columns * target.rows * target.width);
        cuda_detail::check(
            cudaMemcpyAsync(target.data, source.data, bytes, cudaMemcpyDeviceToDevice, cuda_detail::native(stream)),
            "cudaMemcpyAsync", stream);
        return;
    }
    if (cuda_detail::fits_wide_words(source) && cuda_detail::fits_wide_words(target)) {
        copy_words<uint4>(stream, source, target);
    } else {
        copy_words<cuda_detail::ElementWord<T>>(stream, source, target);
    }
    cuda_detail::check_launch("copy_kernel", stream);
}

template <>
const CopyElements<float>::Gpu Code<CopyElements<float>>::gpu = gpu_code<CopyElements<float>>;
template <>
const CopyElements<double>::Gpu Code<CopyElements<double>>::gpu = gpu_code<CopyElements<double>>;
template <>
const CopyTileColumns<float>::Gpu Code<CopyTileColumns<float>>::gpu = gpu_code<CopyTileColumns<float>>;
template <>
const CopyTileColumns<double>::Gpu Code<CopyTileColumns<double>>::gpu = gpu_code<CopyTileColumns<double>>;

}  // namespace basalt::on_stream
