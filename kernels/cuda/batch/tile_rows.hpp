#pragma once

#include <cstddef>
#include <limits>

#include "kernels/cuda/batch/eliminate.hpp"

/// Rows of a matrix in the registers of a block, and products with them, on tensor cores in double precision.
///
/// A warp has 32 rows. A lane has rows group, group + 8, group + 16 and group + 24 of them, and one chunk of each tile
/// of columns, as mma.m16n8k8 spreads its result. A tile has the columns of four chunks: 8 doubles or 16 floats.
namespace basalt::cuda_detail::batch {

constexpr int lane_rows = 4;  ///< of a lane, 8 apart

template <class T>
constexpr int tile_columns = 4 * Chunk<T>::size;

/// Whether int can number the elements of a matrix.
constexpr bool has_counted_elements(Index n, Index ld) { return n * ld <= std::numeric_limits<int>::max(); }

/// Where a lane's part of its warp's rows lies.
struct LanePart {
    int group;  ///< its first row
    int quad;   ///< its chunk in a tile

    BASALT_DEVICE explicit LanePart(int lane) : group(lane / 4), quad(lane % 4) {}
};

/// Where the part of the thread with this number in its block lies.
struct TilePlace : LanePart {
    int row;  ///< its first row, of those of the block

    BASALT_DEVICE explicit TilePlace(int number) : LanePart(number % lanes), row(number / lanes * lanes + group) {}
};

/// Of a lane's elements of a tile.
enum class Transfer { from_shared, to_shared };

/// Elements of a lane's rows in columns quad, quad + 4, ... of a tile: the left operand of a product.
template <class T>
struct LeftOperand {
    T value[lane_rows][Chunk<T>::size];
};

/// Rows in shared memory, the right operand of products, with distances that the compiler knows, and where lanes read
/// and write without conflicts. Floats lie row by row. Doubles lie in blocks of eight rows, column by column, and in
/// every second pair of columns the halves of a column change places.
template <class T, int columns>
struct SharedRows {
    static constexpr int block = columns * 8 + 8, ld = columns + 4;
    T* data;

    /// `rows` is a multiple of 8.
    BASALT_DEVICE static constexpr int elements(int rows) { return sizeof(T) == 8 ? rows / 8 * block : rows * ld; }
    BASALT_DEVICE static constexpr int place(int i, int j) {
        return sizeof(T) == 8 ? i / 8 * block + j * 8 + ((i % 8) ^ (j / 2 % 2 * 4)) : i * ld + j;
    }
    BASALT_DEVICE T* at(int i, int j) const { return data + place(i, j); }
    /// at(i, b * tile_columns + quad * Chunk::size + e), written so that b and e are distances from one address.
    BASALT_DEVICE T* in_chunk(int i, int b, int quad, int e) const {
        if (sizeof(T) == 8) return data + (i / 8 * block + ((i % 8) ^ (quad % 2 * 4)) + quad * 16) + (b * 64 + e * 8);
        return data + (i * ld + quad * 4) + (b * 16 + e);
    }
    /// Elements i .. i + tile_columns of column j; i is a multiple of tile_columns.
    struct Column {
        T *first, *second;  ///< of doubles the halves

        BASALT_DEVICE T* at(int d) const {
            return sizeof(T) == 4 ? first + d * ld : d < 4 ? first + d : second + (d - 4);
        }
    };
    BASALT_DEVICE Column column(int i, int j) const {
        if (sizeof(T) == 4) return {at(i, j), nullptr};
        return {at(i, j), at(i + 4, j)};
    }
    /// From a row to that 32 rows below.
    static constexpr int next_warp = sizeof(T) == 8 ? lanes / 8 * block : lanes * ld;
    /// at(first + k + 4 h, b * 8 + column) for doubles, k < 4, and `first` a multiple of 8.
    BASALT_DEVICE T* in_block(int first, int k, int h, int b, int column) const {
        return data + (first / 8 * block + (k + (column / 2 % 2 ^ h) * 4) + column * 8) + b * 64;
    }
};

/// A tile of columns of a warp's rows in shared memory, for threads that have a row each. A lane's rows of floats are
/// neighbours there.
template <class T>
struct WarpColumns {
    static constexpr int ld = lanes + 4;
    static constexpr int elements = tile_columns<T> * ld;
    T* data;

    BASALT_DEVICE static constexpr int slot(int row) { return sizeof(T) == 8 ? row : row % 8 * lane_rows + row / 8; }
    BASALT_DEVICE T* at(int row, int column) const { return data + column * ld + slot(row); }

    BASALT_DEVICE LeftOperand<T> left_operand(LanePart part) const {
        LeftOperand<T> l;
        BASALT_UNROLL
        for (int i = 0; i < lane_rows; ++i) {
            BASALT_UNROLL
            for (int h = 0; h < Chunk<T>::size; ++h) l.value[i][h] = *at(part.group + 8 * i, part.quad + 4 * h);
        }
        return l;
    }
    BASALT_DEVICE void store(LanePart part, const LeftOperand<T>& l) const {
        BASALT_UNROLL
        for (int i = 0; i < lane_rows; ++i) {
            BASALT_UNROLL
            for (int h = 0; h < Chunk<T>::size; ++h) *at(part.group + 8 * i, part.quad + 4 * h) = l.value[i][h];
        }
    }
};

/// c -= L U for the tiles of columns from `from` on. U are rows of `upper` from row `first` on, as many as a tile has
/// columns. Doubles take L from `l`, floats from `columns`, where the warp has put it, and `at_once` columns of it
/// without a branch between them. All lanes of the warp come here.
template <int tiles, int at_once, int columns_of_upper, class Thread>
BASALT_DEVICE void subtract_product(const Thread& thread, const LeftOperand<double>& l,
                                    const WarpColumns<double>& /*columns*/,
                                    const SharedRows<double, columns_of_upper>& upper, int first, int from,
                                    double (&c)[lane_rows][tiles * 2]) {
    const LanePart part(thread.lane);
    BASALT_UNROLL
    for (int b = 0; b < tiles; ++b) {
        if (b < from) continue;
        const double u0 = *upper.in_block(first, part.quad, 0, b, part.group);
        const double u1 = *upper.in_block(first, part.quad, 1, b, part.group);
        BASALT_UNROLL
        for (int i = 0; i < lane_rows; i += 2) {
            thread.mma_16x8x8(c[i][2 * b], c[i][2 * b + 1], c[i + 1][2 * b], c[i + 1][2 * b + 1], -l.value[i][0],
                              -l.value[i + 1][0], -l.value[i][1], -l.value[i + 1][1], u0, u1);
        }
    }
}
template <int tiles, int at_once, int columns_of_upper, class Thread>
BASALT_DEVICE void subtract_product(const Thread& thread, const LeftOperand<float>& /*l*/,
                                    const WarpColumns<float>& columns, const SharedRows<float, columns_of_upper>& upper,
                                    int first, int from, float (&c)[lane_rows][tiles * 4]) {
    static_assert(Chunk<float>::size == lane_rows && tile_columns<float> % at_once == 0);
    constexpr int size = Chunk<float>::size;
    const LanePart part(thread.lane);
    BASALT_ROLLED
    for (int k0 = 0; k0 < tile_columns<float>; k0 += at_once) {
        BASALT_UNROLL
        for (int k = k0; k < k0 + at_once; ++k) {
            const Chunk<float> own = load_chunk(columns.at(part.group, k));
            BASALT_UNROLL
            for (int b = 0; b < tiles; ++b) {
                if (b < from) continue;
                const Chunk<float> u = load_chunk(upper.at(first + k, b * tile_columns<float> + part.quad * size));
                BASALT_UNROLL
                for (int i = 0; i < lane_rows; ++i) {
                    BASALT_UNROLL
                    for (int e = 0; e < size; ++e) c[i][b * size + e] -= own.value[i] * u.value[e];
                }
            }
        }
    }
}

}  // namespace basalt::cuda_detail::batch
