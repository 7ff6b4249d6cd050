#pragma once

#include <cstddef>
#include <type_traits>

#include "kernels/cuda/batch/lu_small.hpp"
#include "kernels/cuda/batch/tile_rows.hpp"

/// Substitutions of orders above 32. A block has a tile of right-hand sides at once, whose rows lie in the lanes'
/// registers (tile_rows.hpp), and takes several in turn; several blocks may share a system. The triangle stays in the
/// GPU's memory, and each of its elements is read once for a substitution of a tile.
namespace basalt::cuda_detail::batch {

/// Whether tiles in shared memory are those of the triangle or of its transpose.
enum class Squares { own, transposed };

/// Element (i, j) of a matrix of order n at a[i * down + j * across].
template <class T>
struct Strided {
    const T* a;
    Index down, across;
    int n;

    BASALT_DEVICE Strided transposed() const { return {a, across, down, n}; }
};

/// Tiles of a system's right-hand sides: every step-th one from tile `begin` on.
struct TilesOfSides {
    int begin, step;
};

/// Shared memory of a block: a tile of rows of X, twice, and a part for each warp, so that all distances are known to
/// the compiler.
template <class T>
struct SolveTilesMemory {
    static constexpr int tile = tile_columns<T>;
    static constexpr int elements_before_x = Chunk<T>::size;
    static constexpr int elements_of_x = SharedRows<T, tile>::elements(tile);
    static constexpr int columns_of_warp = sizeof(T) == 4 ? WarpColumns<T>::elements : 0;
    static constexpr int elements_of_warp = columns_of_warp + lanes * tile + 2 * lanes;

    T* data;

    static std::size_t bytes(int n) {
        const int elements = elements_before_x + 2 * elements_of_x + padded_to_warp(n) / lanes * elements_of_warp;
        return static_cast<std::size_t>(elements) * sizeof(T);
    }
    BASALT_DEVICE explicit SolveTilesMemory(void* raw) : data(static_cast<T*>(raw)) {}

    /// The first one of the tile of B's columns. The first thread writes it between barriers (for_each_tile()).
    BASALT_DEVICE Index* first_column() const { return reinterpret_cast<Index*>(data); }
    BASALT_DEVICE SharedRows<T, tile> rows_of_x(int step) const {
        return {data + elements_before_x + step % 2 * elements_of_x};
    }
    BASALT_DEVICE T* of_warp(int warp) const {
        return data + elements_before_x + 2 * elements_of_x + warp * elements_of_warp;
    }
    /// A tile of columns of its rows; floats only.
    BASALT_DEVICE WarpColumns<T> columns(int warp) const { return {of_warp(warp)}; }
    /// Row i of the tiles on the diagonal, which are row-major.
    BASALT_DEVICE T* square(int i) const { return of_warp(i / lanes) + (columns_of_warp + i % lanes * tile); }
    /// Of element i on the diagonal.
    BASALT_DEVICE T* reciprocal(int i) const {
        return of_warp(i / lanes) + (columns_of_warp + lanes * tile + i % lanes);
    }
    /// Which row of B the exchanges bring to place i.
    BASALT_DEVICE int* row(int i) const {
        return reinterpret_cast<int*>(of_warp(i / lanes) + (columns_of_warp + lanes * tile + lanes + i % lanes));
    }
};

/// The triangle's tiles on the diagonal to shared memory, with the identity where it ends.
template <class T, class Thread>
BASALT_DEVICE void load_squares(const Thread& thread, const SolveTilesMemory<T>& memory, const Strided<T>& a) {
    constexpr int tile = tile_columns<T>;
    const int number = thread.warp * lanes + thread.lane, first = number / tile * tile;
    BASALT_UNROLL
    for (int c = 0; c < tile; ++c) {
        const int j = first + c;
        const bool there = number < a.n && j < a.n;
        const T value = there ? a.a[number * a.down + j * a.across] : number == j ? T{1} : T{0};
        memory.square(number)[c] = value;
    }
    *memory.reciprocal(number) = T{1} / memory.square(number)[number - first];
}

/// The tile of columns from `first` on of the triangle, in the rows that are not solved yet.
template <Sweep sweep, class T>
BASALT_DEVICE LeftOperand<T> load_left(const Strided<T>& a, LanePart part, int row, int first) {
    LeftOperand<T> l;
    const int begin = recomputed(first) + part.quad;
    row = recomputed(row);
    BASALT_UNROLL
    for (int h = 0; h < Chunk<T>::size; ++h) {
        const int j = begin + 4 * h;
        const T* const column = a.a + row * a.down + j * a.across;
        BASALT_UNROLL
        for (int i = 0; i < lane_rows; ++i) {
            const int own = row + 8 * i;
            const bool rest = sweep == Sweep::forward ? own >= first + tile_columns<T> && own < a.n : own < first;
            l.value[i][h] = rest && j < a.n && j >= 0 ? column[8 * i * a.down] : T{0};
        }
    }
    return l;
}

/// The rows of a tile from `first` on, which lie in shared memory, by as many lanes as the tile has columns.
template <Sweep sweep, Diagonal diagonal, Squares squares, class T>
BASALT_DEVICE void solve_square(const SolveTilesMemory<T>& memory, const SharedRows<T, tile_columns<T>>& x, int first,
                                int lane) {
    constexpr int tile = tile_columns<T>;
    // Hidden, it saves registers of LU's kernel for floats; that for doubles would spill.
    const int begin = sizeof(T) == 4 ? recomputed(first) : first;
    const T *const square = memory.square(begin), *const reciprocals = memory.reciprocal(begin);
    const auto column = x.column(0, lane);
    T value[tile];
    BASALT_UNROLL
    for (int d = 0; d < tile; ++d) value[d] = *column.at(d);
    BASALT_UNROLL
    for (int step = 0; step < tile; ++step) {
        const int d = sweep == Sweep::forward ? step : tile - 1 - step;
        if constexpr (diagonal == Diagonal::stored) value[d] *= reciprocals[d];
        BASALT_UNROLL
        for (int e = 0; e < tile; ++e) {
            if (sweep == Sweep::forward ? e <= d : e >= d) continue;
            value[e] -= square[squares == Squares::transposed ? d * tile + e : e * tile + d] * value[d];
        }
    }
    BASALT_UNROLL
    for (int d = 0; d < tile; ++d) *column.at(d) = value[d];
}

/// x := T^-1 x for a triangle T of A, the lower one forward and the upper one backward, with `at_once` columns of it
/// (subtract_product()).
template <Sweep sweep, Diagonal diagonal, Squares squares, int at_once, class T, class Thread>
BASALT_DEVICE void substitute_tiles(const Thread& thread, const SolveTilesMemory<T>& memory, const Strided<T>& a,
                                    T (&x)[lane_rows][Chunk<T>::size]) {
    constexpr int size = Chunk<T>::size, tile = tile_columns<T>;
    const LanePart part(thread.lane);
    const WarpColumns<T> columns = memory.columns(thread.warp);
    const int begin = thread.warp * lanes, row = begin + part.group, tiles = (a.n + tile - 1) / tile;
    LeftOperand<T> next = load_left<sweep>(a, part, row, sweep == Sweep::forward ? 0 : (tiles - 1) * tile);
    BASALT_ROLLED
    for (int step = 0; step < tiles; ++step) {
        const int first = (sweep == Sweep::forward ? step : tiles - 1 - step) * tile;
        const SharedRows<T, tile> shared = memory.rows_of_x(step);
        if constexpr (sizeof(T) == 4) columns.store(part, next);
        if (thread.warp == first / lanes) {
            BASALT_UNROLL
            for (int i = 0; i < lane_rows; ++i) {
                const int own = row + 8 * i - first;
                if (own < 0 || own >= tile) continue;
                BASALT_UNROLL
                for (int e = 0; e < size; ++e) *shared.in_chunk(own, 0, part.quad, e) = x[i][e];
            }
            thread.sync_warp();
            const int lane = number_in_block(thread) % lanes;
            if (lane < tile) solve_square<sweep, diagonal, squares>(memory, shared, first, lane);
            thread.sync_warp();
            BASALT_UNROLL
            for (int i = 0; i < lane_rows; ++i) {
                const int own = row + 8 * i - first;
                if (own < 0 || own >= tile) continue;
                BASALT_UNROLL
                for (int e = 0; e < size; ++e) x[i][e] = *shared.in_chunk(own, 0, part.quad, e);
            }
        }
        const LeftOperand<T> l = next;
        next = load_left<sweep>(a, part, row, sweep == Sweep::forward ? first + tile : first - tile);
        thread.sync();
        if (sweep == Sweep::forward ? begin + lanes <= first + tile : begin >= first) continue;
        T rest[lane_rows][size];
        BASALT_UNROLL
        for (int i = 0; i < lane_rows; ++i) {
            BASALT_UNROLL
            for (int e = 0; e < size; ++e) rest[i][e] = x[i][e];
        }
        subtract_product<1, at_once>(thread, l, columns, shared, 0, 0, rest);
        thread.sync_warp();  // with the columns read
        BASALT_UNROLL
        for (int i = 0; i < lane_rows; ++i) {  // solved rows stay, whatever zero times infinity is
            const int own = row + 8 * i;
            BASALT_UNROLL
            for (int e = 0; e < size; ++e) {
                if (sweep == Sweep::forward ? own >= first + tile : own < first) x[i][e] = rest[i][e];
            }
        }
    }
}

/// The block's rows of the right-hand sides from `first` on, a tile of them, in the order of X.
template <class T, class Thread>
BASALT_DEVICE void load_sides(const Thread& thread, const SolveTilesMemory<T>& memory, int n,
                              const RightSides<T>& right, Index first, T (&x)[lane_rows][Chunk<T>::size]) {
    constexpr int size = Chunk<T>::size;
    const TilePlace place(number_in_block(thread));
    BASALT_UNROLL
    for (int i = 0; i < lane_rows; ++i) {
        const int own = place.row + 8 * i, from = *memory.row(own);
        BASALT_UNROLL
        for (int e = 0; e < size; ++e) {
            const Index j = first + place.quad * size + e;
            x[i][e] = own < n && j < right.cols ? right.b[from + j * right.ld] : T{0};
        }
    }
}
/// The same rows of X to B.
template <class T, class Thread>
BASALT_DEVICE void store_sides(const Thread& thread, int n, const RightSides<T>& right, Index first,
                               const T (&x)[lane_rows][Chunk<T>::size]) {
    constexpr int size = Chunk<T>::size;
    const TilePlace place(number_in_block(thread));
    BASALT_UNROLL
    for (int i = 0; i < lane_rows; ++i) {
        const int own = place.row + 8 * i;
        BASALT_UNROLL
        for (int e = 0; e < size; ++e) {
            const Index j = first + place.quad * size + e;
            if (own < n && j < right.cols) right.b[own + j * right.ld] = x[i][e];
        }
    }
}

/// The row that the exchanges bring to each place. `pivots` is null without pivoting. Threads follow the exchanges from
/// the last one back, each for its own place.
template <class T, class Thread>
BASALT_DEVICE void find_exchanged_rows(const Thread& thread, const SolveTilesMemory<T>& memory, int n,
                                       const Index* pivots) {
    const int number = thread.warp * lanes + thread.lane;
    int row = number;
    if (pivots != nullptr) {
        if (number < n) *memory.row(number) = static_cast<int>(pivots[number]) - 1;
        thread.sync();
        BASALT_ROLLED
        for (int k = n - 1; k >= 0; --k) {
            const int other = *memory.row(k);
            row = row == k ? other : row == other ? k : row;
        }
        thread.sync();
    }
    *memory.row(number) = row;
    thread.sync();
}

/// Each of these tiles of B becomes X by solve(x), which has barriers: all threads of the block come here. The number
/// of a tile's first column lies in shared memory meanwhile, where it takes no registers.
template <class T, class Thread, class Solve>
BASALT_DEVICE void for_each_tile(const Thread& thread, const SolveTilesMemory<T>& memory, int n,
                                 const RightSides<T>& right, TilesOfSides tiles, const Solve& solve) {
    if (number_in_block(thread) == 0) *memory.first_column() = tiles.begin * tile_columns<T>;
    thread.sync();
    while (*memory.first_column() < right.cols) {
        T x[lane_rows][Chunk<T>::size];
        load_sides(thread, memory, n, right, *memory.first_column(), x);
        thread.sync();  // with B read by all
        solve(x);
        store_sides(thread, n, right, *memory.first_column(), x);
        thread.sync();
        if (number_in_block(thread) == 0) *memory.first_column() += tiles.step * tile_columns<T>;
        thread.sync();
    }
}

/// B := L^-T L^-1 B where the operand holds the factor L of A, for these tiles of B's columns.
template <class T, class Thread>
BASALT_DEVICE void cholesky_solve_tiles(const Thread& thread, const SolveTilesMemory<T>& memory,
                                        const Operand<const T>& a, const RightSides<T>& right, TilesOfSides tiles) {
    const Strided<T> l{a.a, a.down, a.across, a.n};
    load_squares(thread, memory, l);
    find_exchanged_rows(thread, memory, a.n, nullptr);
    for_each_tile(thread, memory, a.n, right, tiles, [&](auto& x) {
        substitute_tiles<Sweep::forward, Diagonal::stored, Squares::own, 4>(thread, memory, l, x);
        substitute_tiles<Sweep::backward, Diagonal::stored, Squares::transposed, 4>(thread, memory, l.transposed(), x);
    });
}

/// B := A^-1 B with the factors of A, for these tiles of B's columns; `pivots` is null without pivoting.
template <class T, class Thread>
BASALT_DEVICE void lu_solve_tiles(const Thread& thread, const SolveTilesMemory<T>& memory, const Whole<const T>& a,
                                  const Index* pivots, const RightSides<T>& right, TilesOfSides tiles) {
    const Strided<T> factors{a.a, 1, a.ld, a.rows};
    load_squares(thread, memory, factors);
    find_exchanged_rows(thread, memory, a.rows, pivots);
    // with more columns of floats at once, the kernel would spill
    for_each_tile(thread, memory, a.rows, right, tiles, [&](auto& x) {
        substitute_tiles<Sweep::forward, Diagonal::unit, Squares::own, 1>(thread, memory, factors, x);
        substitute_tiles<Sweep::backward, Diagonal::stored, Squares::own, 1>(thread, memory, factors, x);
    });
}

}  // namespace basalt::cuda_detail::batch
