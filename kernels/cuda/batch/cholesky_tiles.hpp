#pragma once

#include <cstddef>

#include "kernels/cuda/batch/panels.hpp"
#include "kernels/cuda/batch/tile_rows.hpp"

/// Cholesky of larger orders in double precision, on tensor cores: a matrix in a block, left-looking by panels of 32
/// columns. A warp has 32 rows of the panel in its registers (tile_rows.hpp).
///
/// Finished panels stay where the matrix is. Products with them take the left operand from there; the right one, the
/// rows of the panel's square, goes to shared memory. In a panel, the warp that has its square eliminates tiles on the
/// diagonal and inverts them. The rows C below become X = C L^-T by the inverse, and the remainder C - X L^T times the
/// inverse is added to X, so that rows are as accurate as those of a substitution.
///
/// The order of what a product adds up is free. Here lane `quad` has columns 2 quad and 2 quad + 1 of a tile, in left
/// operands too, so that results become left operands as they are.
namespace basalt::cuda_detail::batch {

/// Shared memory of a block, which begins at an address that is a multiple of 16.
struct CholeskyTileMemory {
    static constexpr int tile = 8, tiles = 4, width = tiles * tile;  ///< width: as many columns as a warp has rows
    static constexpr int square = tile * tile, operand = width * width;
    static constexpr int parked_by_lane = (tiles - 1) * lane_rows * 2;  ///< elements

    double* data;

    static constexpr std::size_t bytes() {
        return (3 * square + 2 * operand + parked_by_lane * lanes) * sizeof(double) + 16;
    }

    /// Two columns of the tile on the diagonal, before they are scaled.
    BASALT_DEVICE double* columns() const { return data; }
    /// L on the diagonal: element (i, j) at [i * tile + j].
    BASALT_DEVICE double* diagonal() const { return data + square; }
    /// Its inverse: element (i, j) at [i * tile + j].
    BASALT_DEVICE double* inverse() const { return data + 2 * square; }
    /// Rows of the panel's square in 32 finished columns, or in two tiles of the panel: element (i, j) at
    /// [j / tile * width * tile + i * tile + j % tile].
    BASALT_DEVICE double* rows_of_square(int turn) const { return data + 3 * square + turn % 2 * operand; }
    /// What a warp does not need while it factors a tile on the diagonal: element k of a lane at [k * lanes + lane].
    BASALT_DEVICE double* parked_elements() const { return data + 3 * square + 2 * operand; }
    /// INFO.
    BASALT_DEVICE int* failed() const { return reinterpret_cast<int*>(parked_elements() + parked_by_lane * lanes); }
};

static_assert(CholeskyTileMemory::width == lanes);

/// An operand whose elements are numbered by int.
struct CountedOperand {
    double* a;
    int down, across, n;

    BASALT_DEVICE explicit CountedOperand(const Operand<double>& own)
        : a(own.a), down(static_cast<int>(own.down)), across(static_cast<int>(own.across)), n(own.n) {}
    BASALT_DEVICE bool holds(int i, int j) const { return j <= i && i < n; }
    BASALT_DEVICE double* at(int i, int j) const { return a + (i * down + j * across); }
};

/// A lane's elements in the rows of its warp and a tile of columns.
struct TileRows {
    double value[lane_rows][2];
};

enum class Sign { plus, minus };
/// C += X Y^T or C -= X Y^T for a tile of columns, in each lane's rows i and i + 1. Y has a row for each column:
/// element (i, j) at [i * 8 + j].
template <Sign sign, class Thread>
BASALT_DEVICE void multiply_rows(const Thread& thread, LanePart part, const TileRows& x, int i, const double* y,
                                 TileRows& c) {
    constexpr double factor = sign == Sign::plus ? 1 : -1;
    const Chunk<double> u = load_chunk(y + part.group * 8 + part.quad * 2);
    thread.mma_16x8x8(c.value[i][0], c.value[i][1], c.value[i + 1][0], c.value[i + 1][1], factor * x.value[i][0],
                      factor * x.value[i + 1][0], factor * x.value[i][1], factor * x.value[i + 1][1], u.value[0],
                      u.value[1]);
}
/// The same in all rows of the warp.
template <Sign sign, class Thread>
BASALT_DEVICE void multiply_tile(const Thread& thread, LanePart part, const TileRows& x, const double* y, TileRows& c) {
    BASALT_UNROLL
    for (int i = 0; i < lane_rows; i += 2) multiply_rows<sign>(thread, part, x, i, y, c);
}

/// Rows j .. j + width of columns q .. q + width to shared memory.
template <class Thread>
BASALT_DEVICE void load_rows_of_square(const Thread& thread, const CountedOperand& a, int j, int q, double* rows) {
    constexpr int tile = CholeskyTileMemory::tile, width = CholeskyTileMemory::width, at_once = 4;
    const int threads = thread.warps * lanes;
    BASALT_ROLLED
    for (int begin = thread.warp * lanes + thread.lane; begin < width * width; begin += at_once * threads) {
        double value[at_once];
        BASALT_UNROLL
        for (int u = 0; u < at_once; ++u) {
            const int number = begin + u * threads, row = j + number / tile % width;
            const int column = q + number / (tile * width) * tile + number % tile;
            value[u] = number < width * width && row < a.n ? *a.at(row, column) : 0.0;
        }
        BASALT_UNROLL
        for (int u = 0; u < at_once; ++u) {
            if (begin + u * threads < width * width) rows[begin + u * threads] = value[u];
        }
    }
}

/// The lane's elements of its rows i and i + 1, and of finished columns from `first` on.
BASALT_DEVICE void load_finished(const CountedOperand& a, const TilePlace& own, int first, int i, TileRows& x) {
    BASALT_UNROLL
    for (int r = i; r < i + 2; ++r) {
        BASALT_UNROLL
        for (int e = 0; e < 2; ++e) {
            x.value[r][e] = own.row + 8 * r < a.n ? *a.at(own.row + 8 * r, first + own.quad * 2 + e) : 0.0;
        }
    }
}

/// Starts to bring the panel whose first column is j to the second cache.
template <class Thread>
BASALT_DEVICE void prefetch_panel(const Thread& thread, const CountedOperand& a, int j) {
    constexpr int line = 8, width = CholeskyTileMemory::width;
    const bool lower = a.down == 1;
    const int lane = number_in_block(thread) % lanes;
    BASALT_ROLLED
    for (int i = number_in_block(thread) / lanes; i < width; i += thread.warps) {
        BASALT_ROLLED
        for (int k = lane * (lower ? line : 1); j + k < a.n; k += lanes * (lower ? line : 1)) {
            const int row = j + k, column = j + i;
            if (column < a.n && (lower || i % line == 0)) thread.prefetch(a.at(row, column));
        }
    }
}

/// The products with all columns to the left of the panel, whose first column is j. Warps whose rows lie above come
/// here for the barriers.
template <Registers registers, class Thread>
BASALT_DEVICE void apply_finished_columns(const Thread& thread, const CholeskyTileMemory& memory,
                                          const CountedOperand& a, int j, TileRows (&c)[CholeskyTileMemory::tiles]) {
    constexpr int tile = CholeskyTileMemory::tile, tiles = CholeskyTileMemory::tiles, width = tiles * tile;
    constexpr int at_once = registers == Registers::few ? 2 : tiles;  // tiles of columns, without a branch between
    if (j == 0) return;
    const bool has_rows = thread.warp * lanes >= j;
    load_rows_of_square(thread, a, j, 0, memory.rows_of_square(0));
    TileRows x;
    if (has_rows) {
        const TilePlace own(number_in_block(thread));
        BASALT_UNROLL
        for (int i = 0; i < lane_rows; i += 2) load_finished(a, own, 0, i, x);
    }
    BASALT_ROLLED
    for (int begin = 0; begin < j; begin += at_once * tile) {
        if (begin % width == 0) {
            thread.sync();  // with these rows written and the others read
            const int next = begin + width;
            if (next < j) load_rows_of_square(thread, a, j, next, memory.rows_of_square(next / width));
        }
        if (!has_rows) continue;
        const TilePlace own(number_in_block(thread));
        const double* rows = memory.rows_of_square(begin / width) + begin % width * width;
        BASALT_UNROLL
        for (int k = 1; k <= at_once; ++k, rows += width * tile) {
            BASALT_UNROLL
            for (int i = 0; i < lane_rows; i += 2) {  // two rows at once, so that x is loaded again where it was read
                BASALT_UNROLL
                for (int b = 0; b < tiles; ++b) {
                    multiply_rows<Sign::minus>(thread, own, x, i, rows + b * tile * tile, c[b]);
                }
                if (begin + k * tile < j) load_finished(a, own, begin + k * tile, i, x);
            }
        }
    }
}

/// Factors and inverts the tile on the diagonal, which the lanes of a warp have in `own` each. Returns the number of
/// the first pivot that fails, from 1; 0 if there is none.
template <class Thread>
BASALT_DEVICE int factor_diagonal_tile(const Thread& thread, const CholeskyTileMemory& memory, const double (&own)[2]) {
    constexpr int tile = CholeskyTileMemory::tile;
    double* const diagonal = memory.diagonal();
    const int lane = number_in_block(thread) % lanes;
    const LanePart part(lane);
    BASALT_UNROLL
    for (int e = 0; e < 2; ++e) diagonal[part.group * tile + part.quad * 2 + e] = own[e];
    thread.sync_warp();
    // Lanes from 8 on have rows of the identity. Where others become L, these become L^-T.
    double v[tile];
    BASALT_UNROLL
    for (int d = 0; d < tile; ++d) {
        v[d] = lane < tile ? diagonal[lane * tile + d] : lane - tile == d ? 1.0 : 0.0;
    }
    const int failed = eliminate<SquareRows::here, 2>(thread, v, memory.columns(), lane < tile ? lane : tile);
    BASALT_UNROLL
    for (int d = 0; d < tile; ++d) {
        if (lane < tile) {
            diagonal[lane * tile + d] = d <= lane ? v[d] : 0.0;
        } else if (lane < 2 * tile) {
            memory.inverse()[d * tile + lane - tile] = v[d];
        }
    }
    return failed;
}

/// Tiles of C from `first` on, which the warp does not need for a while, to shared memory or back.
template <Transfer transfer, int first, class Thread>
BASALT_DEVICE void park_tiles(const Thread& thread, const CholeskyTileMemory& memory,
                              TileRows (&c)[CholeskyTileMemory::tiles]) {
    double* element = memory.parked_elements() + number_in_block(thread) % lanes;
    BASALT_UNROLL
    for (int b = first; b < CholeskyTileMemory::tiles; ++b) {
        BASALT_UNROLL
        for (int i = 0; i < lane_rows; ++i) {
            BASALT_UNROLL
            for (int e = 0; e < 2; ++e, element += lanes) {
                if constexpr (transfer == Transfer::to_shared) {
                    *element = c[b].value[i][e];
                } else {
                    c[b].value[i][e] = *element;
                }
            }
        }
    }
}

/// Factors and stores tile b of the panel whose first column is j, and subtracts the products with it from later tiles.
template <Registers registers, int b, class Thread>
BASALT_DEVICE void factor_tile(const Thread& thread, const CholeskyTileMemory& memory, const CountedOperand& a, int j,
                               TileRows (&c)[CholeskyTileMemory::tiles]) {
    constexpr int tile = CholeskyTileMemory::tile, tiles = CholeskyTileMemory::tiles, width = tiles * tile;
    if (recomputed(j) + b * tile >= a.n) return;
    const bool has_rows = thread.warp * lanes >= j, has_square = thread.warp * lanes == j;
    if (has_square) {
        constexpr int first_parked = registers == Registers::few ? b + 1 : tiles;
        park_tiles<Transfer::to_shared, first_parked>(thread, memory, c);
        const int failed = factor_diagonal_tile(thread, memory, c[b].value[b]);
        const bool first_lane = number_in_block(thread) % lanes == 0;
        if (first_lane && failed > 0 && *memory.failed() == 0) *memory.failed() = j + b * tile + failed;
        park_tiles<Transfer::from_shared, first_parked>(thread, memory, c);
    }
    thread.sync();
    const TilePlace own(number_in_block(thread));
    const int first = recomputed(j) + b * tile;
    // rows that no warp reads any more: neither those of finished columns nor those of the tile before
    double* const rows = memory.rows_of_square(j / width) + b % 2 * width * tile;
    TileRows x = {};
    if (has_rows) {
        TileRows rest = c[b];
        multiply_tile<Sign::plus>(thread, own, rest, memory.inverse(), x);
        multiply_tile<Sign::minus>(thread, own, x, memory.diagonal(), rest);
        multiply_tile<Sign::plus>(thread, own, rest, memory.inverse(), x);
        BASALT_UNROLL
        for (int e = 0; e < 2; ++e) {
            if (has_square) x.value[b][e] = memory.diagonal()[own.group * tile + own.quad * 2 + e];
        }
        BASALT_UNROLL
        for (int i = 0; i < lane_rows; ++i) {
            BASALT_UNROLL
            for (int e = 0; e < 2; ++e) {
                const int column = first + own.quad * 2 + e;
                if (a.holds(own.row + 8 * i, column)) *a.at(own.row + 8 * i, column) = x.value[i][e];
                if (has_square) rows[(own.group + 8 * i) * tile + own.quad * 2 + e] = x.value[i][e];
            }
        }
    }
    if (b == tiles - 1 || first + tile >= a.n) return;
    thread.sync();
    if (!has_rows) return;
    BASALT_UNROLL
    for (int later = b + 1; later < tiles; ++later) {
        multiply_tile<Sign::minus>(thread, own, x, rows + later * tile * tile, c[later]);
    }
}

/// A := L in place. All threads of a block with a row each come here. Returns INFO.
template <Registers registers, class Thread>
BASALT_DEVICE int cholesky_factor_tiles(const Thread& thread, const CholeskyTileMemory& memory,
                                        const CountedOperand& a) {
    constexpr int tile = CholeskyTileMemory::tile, tiles = CholeskyTileMemory::tiles;
    if (thread.warp == 0 && thread.lane == 0) *memory.failed() = 0;
    thread.sync();
    BASALT_ROLLED
    for (int j = 0; j < a.n; j += tiles * tile) {
        const TilePlace place(number_in_block(thread));
        TileRows c[tiles];
        if (thread.warp * lanes >= j) {
            BASALT_UNROLL
            for (int b = 0; b < tiles; ++b) {
                BASALT_UNROLL
                for (int i = 0; i < lane_rows; ++i) {
                    BASALT_UNROLL
                    for (int e = 0; e < 2; ++e) {
                        const int own = place.row + 8 * i, column = j + b * tile + place.quad * 2 + e;
                        c[b].value[i][e] = a.holds(own, column) ? *a.at(own, column) : own == column ? 1.0 : 0.0;
                    }
                }
            }
        }
        apply_finished_columns<registers>(thread, memory, a, j, c);
        prefetch_panel(thread, a, j + tiles * tile);
        factor_tile<registers, 0>(thread, memory, a, j, c);
        factor_tile<registers, 1>(thread, memory, a, j, c);
        factor_tile<registers, 2>(thread, memory, a, j, c);
        factor_tile<registers, 3>(thread, memory, a, j, c);
        thread.sync();
    }
    return *memory.failed();
}

}  // namespace basalt::cuda_detail::batch
