#include <cassert>

#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/matrix/words.cuh"
#include "kernels/cuda/rows/row_moves.cuh"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/rows.hpp"

namespace basalt::on_stream {

namespace {

using cuda_detail::divide_up;
using cuda_detail::native;

// ---- from interchanges to moves -------------------------------------------------------------------------

constexpr int moves_threads = 1024;

__global__ void __launch_bounds__(moves_threads) row_moves_kernel(const Index* pivots, RowMoves moves) {
    extern __shared__ int4 shared[];
    cuda_detail::find_row_moves(pivots, moves, shared);
}

// ---- moving rows ----------------------------------------------------------------------------------------

constexpr int move_threads = cuda_detail::exchange_threads;
constexpr int rows_a_block = cuda_detail::exchanged_rows;

/// Where a block of move_threads words lies: a segment of the rows of one tile column. Segments of all tile
/// columns are numbered in blockIdx.x.
struct Segment {
    Index column;
    Index word;

    __device__ explicit Segment(Index segments_a_row)
        : column(blockIdx.x / segments_a_row), word(blockIdx.x % segments_a_row * move_threads + threadIdx.x) {}
};

template <class Word>
__global__ void __launch_bounds__(move_threads)
    exchange_kernel(RowMoves moves, TileColumns<Word> a, TileColumns<Word> w, Index segments_a_row) {
    const Segment segment(segments_a_row);
    if (segment.word >= a.width) return;
    Word* const column = a.data + segment.column * a.stride + segment.word;
    Word* const work = w.data + segment.column * w.stride + segment.word;
    const Index first = static_cast<Index>(blockIdx.y) * rows_a_block;

    Index row[rows_a_block], source[rows_a_block], refill[rows_a_block];
    Word to_top[rows_a_block], to_below[rows_a_block];
#pragma unroll
    for (int r = 0; r < rows_a_block; ++r) {
        row[r] = first + r < moves.count ? first + r : moves.count - 1;  // the last one again, with the same outcome
        source[r] = moves.top_source[row[r]];
        refill[r] = moves.refill[row[r]];
    }
#pragma unroll
    for (int r = 0; r < rows_a_block; ++r) {
        to_top[r] = column[source[r] * a.ld];
        if (refill[r] >= 0) to_below[r] = column[refill[r] * a.ld];
    }
    // Row source[r], if below the top, is read and written by this thread alone, and top rows are not
    // written.
#pragma unroll
    for (int r = 0; r < rows_a_block; ++r) {
        work[row[r] * w.ld] = to_top[r];
        if (refill[r] >= 0) column[source[r] * a.ld] = to_below[r];
    }
}

template <class Word, class T>
void exchange_words(Stream stream, RowMoves moves, const TileColumns<T>& a, const TileColumns<T>& w) {
    const auto words = cuda_detail::in_words<Word>(a), work = cuda_detail::in_words<Word>(w);
    const auto grid = cuda_detail::exchange_grid(words.columns, words.width, moves.count);
    exchange_kernel<<<cuda_detail::blocks(grid), move_threads, 0, native(stream)>>>(
        moves, words, work, divide_up(words.width, move_threads));
}

}  // namespace

void run_on_gpu(FindRowMoves, Stream stream, const Index* pivots, RowMoves moves) {
    assert(moves.count <= max_row_moves);
    if (moves.count == 0) return;
    const std::size_t shared = cuda_detail::row_moves_shared(static_cast<int>(moves.count));
    const int threads = static_cast<int>(std::min<Index>(moves_threads, divide_up(moves.count, 32) * 32));
    row_moves_kernel<<<1, threads, shared, native(stream)>>>(pivots, moves);
    cuda_detail::check_launch("row_moves_kernel", stream);
}

template <class T>
void run_on_gpu(ExchangeRows<T>, Stream stream, RowMoves moves, TileColumns<T> a, TileColumns<T> w) {
    assert(w.rows == moves.count && w.columns == a.columns && w.width == a.width && moves.count <= a.rows);
    if (a.empty() || moves.count == 0) return;
    if (cuda_detail::fits_wide_words(a) && cuda_detail::fits_wide_words(w)) {
        exchange_words<uint4>(stream, moves, a, w);
    } else {
        exchange_words<cuda_detail::ElementWord<T>>(stream, moves, a, w);
    }
    cuda_detail::check_launch("exchange_kernel", stream);
}

template <>
const ExchangeRows<float>::Gpu Code<ExchangeRows<float>>::gpu = gpu_code<ExchangeRows<float>>;
template <>
const ExchangeRows<double>::Gpu Code<ExchangeRows<double>>::gpu = gpu_code<ExchangeRows<double>>;
template <>
const FindRowMoves::Gpu Code<FindRowMoves>::gpu = gpu_code<FindRowMoves>;

}  // namespace basalt::on_stream
