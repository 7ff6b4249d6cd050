#pragma once

#include "kernels/cuda/common/device_code.hpp"
#include "kernels/cuda/triangle/solve_strip.hpp"

/// What a block of threads does between the leaves of a panel: U = L^-1 A and C -= L U for columns of few elements,
/// written without CUDA so that a test can run it on the host. A `Thread` has the members that solve_strip()
/// needs and two more: `copy(to, from)` starts the copy of two elements to shared memory, and `wait_for_copies()` waits
/// for the copies of the thread block.
///
/// U lies in shared memory in strips of 32 columns, each of which has room for product_depth rows, shared_ld apart.
namespace basalt::cuda_detail {

constexpr int product_depth = 128;
constexpr int strip_size = product_depth * shared_ld;

/// A triangle in shared memory: its blocks of 16 x 16 on and below the diagonal, one behind the other.
template <class T>
constexpr int triangle_ld = unit_rows + 16 / static_cast<int>(sizeof(T));
template <class T>
constexpr int triangle_block(int row, int col) {
    return (row * (row + 1) / 2 + col) * unit_rows * triangle_ld<T>;
}
template <class T>
constexpr int triangle_size(int order) {
    return triangle_block<T>((order + unit_rows - 1) / unit_rows, 0);
}

template <class T>
BASALT_DEVICE Pair<T> negative(Pair<T> pair) {
    return {-pair.first, -pair.second};
}
template <class T>
BASALT_DEVICE Operand<T> negative(const Operand<T>& a) {
    Operand<T> b;
    BASALT_UNROLL
    for (int p = 0; p < Operand<T>::pairs; ++p) {
        b.upper[p] = negative(a.upper[p]);
        b.lower[p] = negative(a.lower[p]);
    }
    return b;
}

/// Rows and columns to strips, zeros in the rest of their units and strips. line(row): the first element of a
/// row, also asked for up to the end of the last unit, where nothing is read of it.
template <class Thread, class T, class Line>
BASALT_DEVICE void copy_lines_to_strips(const Thread& thread, const Line& line, int rows, int cols, T* u) {
    constexpr int chunk = 2, chunks = strip_cols / chunk;
    const int first = (thread.warp * warp_lanes + thread.lane) / chunks, part = thread.lane % chunks * chunk;
    const int all_rows = (rows + unit_rows - 1) / unit_rows * unit_rows;
    BASALT_ROLLED
    for (int strip = 0; strip * strip_cols < cols; ++strip) {
        const int col = strip * strip_cols + part;
        BASALT_ROLLED
        for (int row = first; row < all_rows; row += thread.warps * warp_lanes / chunks) {
            T* const to = u + strip * strip_size + row * shared_ld + part;
            const T* const from = line(row) + col;
            if (row < rows && col + chunk <= cols) {
                thread.copy(to, from);
            } else {
                for (int c = 0; c < chunk; ++c) to[c] = row < rows && col + c < cols ? from[c] : T{0};
            }
        }
    }
}
template <class Thread, class T>
BASALT_DEVICE void copy_to_strips(const Thread& thread, const T* a, int ld, int rows, int cols, T* u) {
    copy_lines_to_strips(
        thread, [=](int row) { return a + static_cast<Index>(row) * ld; }, rows, cols, u);
}

/// Blocks of 16 x 16 on and below the diagonal, zeros below the last row. Elements above the
/// diagonal are not used, but can be read.
template <class Thread, class T>
BASALT_DEVICE void copy_triangle(const Thread& thread, const T* a, int ld, int order, T* l) {
    constexpr int chunk = 2, chunks = unit_rows / chunk;
    const int number = thread.warp * warp_lanes + thread.lane, part = number % chunks * chunk;
    const int rows = (order + unit_rows - 1) / unit_rows * unit_rows;
    BASALT_ROLLED
    for (int row = number / chunks; row < rows; row += thread.warps * warp_lanes / chunks) {
        const int unit = row / unit_rows;
        T* to = l + triangle_block<T>(unit, 0) + row % unit_rows * triangle_ld<T> + part;
        const T* from = a + static_cast<Index>(row) * ld + part;
        BASALT_ROLLED
        for (int col = 0; col <= unit; ++col, to += unit_rows * triangle_ld<T>, from += unit_rows) {
            if (row < order) {
                thread.copy(to, from);
            } else {
                to[0] = to[1] = T{0};
            }
        }
    }
}

/// 16 rows of U, a column a lane.
template <class T>
BASALT_DEVICE void substitute(const T* l, T* u) {
    T x[unit_rows];
    BASALT_UNROLL
    for (int k = 0; k < unit_rows; ++k) x[k] = u[k * shared_ld];
    BASALT_UNROLL
    for (int k = 0; k < unit_rows; k += 2) {
        BASALT_UNROLL
        for (int r = k + 1; r < unit_rows; ++r) {
            const Pair<T> multipliers = load_pair<true>(l + r * triangle_ld<T> + k);
            x[r] -= multipliers.first * x[k];
            if (r > k + 1) x[r] -= multipliers.second * x[k + 1];
        }
    }
    BASALT_UNROLL
    for (int k = 1; k < unit_rows; ++k) u[k * shared_ld] = x[k];
}

/// U = L^-1 A with L unit lower triangular, of any order up to product_depth, and at most two strips of A. u:
/// ceil(cols / 32) strips, A before and U afterwards; l: what copy_triangle() writes. Both are there for all threads of
/// the block, and so is U when it returns.
template <class Thread, class T>
BASALT_DEVICE void solve_strips(const Thread& thread, int order, int cols, T* u, const T* l) {
    const int g = thread.lane / 4, t = thread.lane % 4;
    const int units = (order + unit_rows - 1) / unit_rows;
    const int strips = (cols + strip_cols - 1) / strip_cols;
    const int shift = cols <= tile_cols ? 0 : cols <= 2 * tile_cols ? 1 : cols <= strip_cols ? 2 : 3;  // 2^shift tiles
    BASALT_ROLLED
    for (int unit = 0;; ++unit) {
        T* const solved = u + unit * unit_rows * shared_ld;
        if (thread.warp < strips)
            substitute(l + triangle_block<T>(unit, unit), solved + thread.warp * strip_size + thread.lane);
        thread.sync();
        if (unit + 1 == units) break;
        BASALT_ROLLED
        for (int i = thread.warp; i < (units - unit - 1) << shift; i += thread.warps) {
            const int row = unit + 1 + (i >> shift), tile = i & ((1 << shift) - 1);
            const int at = tile / unit_tiles * strip_size + tile % unit_tiles * tile_cols;
            T* const right = u + row * unit_rows * shared_ld + at + g * shared_ld + 2 * t;
            const T* const below = l + triangle_block<T>(row, unit);
            const OperandRows rows = OperandRows::of<T>(triangle_ld<T>, thread.lane, 0, unit_rows);
            Sums<T, 1> sums;
            auto& [upper, lower] = sums.of[0];
            upper = load_pair<true>(right);
            lower = load_pair<true>(right + unit_rows / 2 * shared_ld);
            BASALT_UNROLL
            for (int d = 0; d < unit_rows / depth; ++d) {
                multiply_add(thread, sums, negative(rows.load<true>(below, d * depth)),
                             solved + at + d * depth * shared_ld);
            }
            store_pair<true>(right, upper);
            store_pair<true>(right + unit_rows / 2 * shared_ld, lower);
        }
        thread.sync();
    }
}

/// The same of A and L in the device's memory, `ld` apart. l: triangle_size(order) elements of shared memory, for this
/// alone. Before it, all threads are done with what lay there.
template <class Thread, class T>
BASALT_DEVICE void solve_in_shared(const Thread& thread, const T* triangle, const T* a, int ld, int order, int cols,
                                   T* u, T* l) {
    copy_to_strips(thread, a, ld, order, cols, u);
    copy_triangle(thread, triangle, ld, order, l);
    thread.wait_for_copies();
    solve_strips(thread, order, cols, u, l);
}

/// Where the first columns of C go instead of the device's memory: rows of shared memory, or nullptr.
template <class T>
struct Staging {
    T* data;
    int ld;
    int cols;
};

/// Of a row of a product: the first elements of L's, of C's, and of where C's is read from.
template <class T>
struct ProductLine {
    const T* l;
    T* c;
    const T* before;
};

/// Of a warp: `units` times 16 rows of C, in tiles * 8 columns.
template <int units, int tiles, class T>
class ProductRows {
  public:
    /// From row `row` of `rows` on; rows behind the last are copies of it, and their results are not stored.
    /// lines(row): ProductLine of it, where L begins at a multiple of 16 bytes and the others of two elements.
    template <class Thread, class Lines>
    BASALT_DEVICE ProductRows(const Thread& thread, const Lines& lines, int row, int rows, int cols)
        : g_(thread.lane / 4), t_(thread.lane % 4), row_(row), rows_(rows), cols_(cols) {
        BASALT_UNROLL
        for (int n = 0; n < units; ++n) {
            const T* before[2];
            BASALT_UNROLL
            for (int h = 0; h < 2; ++h) {
                const ProductLine<T> line = lines(std::min(row + n * unit_rows + h * unit_rows / 2 + g_, rows - 1));
                l_[n][h] = line.l + (in_tensor_cores<T> ? 2 * t_ : 0);
                c_[n][h] = line.c + 2 * t_;
                before[h] = line.before + 2 * t_;
            }
            BASALT_UNROLL
            for (int i = 0; i < ahead; ++i) operands_[n][i] = load(n, i * depth);
            for_each_tile([&](int j) {
                auto& [upper, lower] = tile(n, j);
                const bool exists = j * tile_cols + 2 * t_ < cols_;
                upper = exists ? load_pair<true>(before[0] + j * tile_cols) : Pair<T>{};
                lower = exists ? load_pair<true>(before[1] + j * tile_cols) : Pair<T>{};
            });
        }
    }

    /// C -= L U; `order`: a multiple of `step`. `peeled`: the last step is code of its own, which is worth it where
    /// there is much to multiply; else fewer instructions are to be fetched.
    template <bool peeled, class Thread>
    BASALT_DEVICE void multiply(const Thread& thread, int order, const T* u) {
        int k = 0;
        BASALT_ROLLED
        for (; k + (peeled ? step : 0) < order; k += step) take_step(thread, k, u, peeled || k + step < order);
        if (peeled) take_step(thread, k, u, false);
    }

    template <bool staged>
    BASALT_DEVICE void store(const Staging<T>& staging) const {
        BASALT_UNROLL
        for (int n = 0; n < units; ++n) {
            BASALT_UNROLL
            for (int h = 0; h < 2; ++h) {
                const int row = row_ + n * unit_rows + h * unit_rows / 2 + g_;
                if (row >= rows_) continue;
                for_each_tile([&](int j) {
                    const int col = j * tile_cols + 2 * t_;
                    const Pair<T> c = h == 0 ? tile(n, j).upper : tile(n, j).lower;
                    if (staged && j * tile_cols < staging.cols) {
                        store_pair<true>(staging.data + row * staging.ld + col, c);
                    } else if (col + 1 < cols_) {
                        store_pair<true>(c_[n][h] + j * tile_cols, c);
                    } else if (col < cols_) {  // rows are aligned for pairs, but the last column may have no neighbour
                        c_[n][h][j * tile_cols] = c.first;
                    }
                });
            }
        }
    }

    // steps of L on their way; plain products take many more instructions, which are fetched too
    static constexpr int ahead = in_tensor_cores<T> ? (units == 4 ? 2 : 4) : 1;
    static constexpr int step = ahead * depth;

  private:
    static constexpr int strips = (tiles + unit_tiles - 1) / unit_tiles, strip_tiles = tiles / strips;

    /// Columns [k, k + step) of L, while those behind them are fetched if there are `more`.
    template <class Thread>
    BASALT_DEVICE void take_step(const Thread& thread, int k, const T* u, bool more) {
        BASALT_UNROLL
        for (int i = 0; i < ahead; ++i) {
            const int now = k + i * depth;
            BASALT_UNROLL
            for (int n = 0; n < units; ++n) {
                const Operand<T> l = negative(operands_[n][i]);
                if (more) operands_[n][i] = load(n, now + step);  // a predicate: the code is there once
                BASALT_UNROLL
                for (int s = 0; s < strips; ++s)
                    multiply_add(thread, sums_[n][s], l, u + s * strip_size + now * shared_ld);
            }
        }
    }

    template <class F>
    static BASALT_DEVICE void for_each_tile(const F& f) {
        BASALT_UNROLL
        for (int j = 0; j < tiles; ++j) f(j);
    }
    BASALT_DEVICE auto& tile(int n, int j) { return sums_[n][j / strip_tiles].of[j % strip_tiles]; }
    BASALT_DEVICE const auto& tile(int n, int j) const { return sums_[n][j / strip_tiles].of[j % strip_tiles]; }

    BASALT_DEVICE Operand<T> load(int n, int col) const {
        struct alignas(16) Packed {
            Pair<T> pairs[16 / sizeof(Pair<T>)];
        };
        constexpr int pack = 16 / static_cast<int>(sizeof(Pair<T>));
        Operand<T> a;
        BASALT_UNROLL
        for (int p = 0; p < Operand<T>::pairs; p += pack) {
            const auto upper = *reinterpret_cast<const Packed*>(l_[n][0] + col + 2 * p),
                       lower = *reinterpret_cast<const Packed*>(l_[n][1] + col + 2 * p);
            BASALT_UNROLL
            for (int q = 0; q < pack; ++q) {
                a.upper[p + q] = upper.pairs[q];
                a.lower[p + q] = lower.pairs[q];
            }
        }
        return a;
    }

    int g_, t_, row_, rows_, cols_;
    const T* l_[units][2];
    T* c_[units][2];
    Operand<T> operands_[units][ahead];
    Sums<T, strip_tiles> sums_[units][strips];
};

/// C -= L U for a block's `rows` rows, `units` times 16 at a time to a warp, and up to tiles * 8 columns. `l`: L's
/// first element; C's is `apart` elements right of it.
template <int units, int tiles, bool staged, bool peeled, class Thread, class T>
BASALT_DEVICE void subtract_product(const Thread& thread, T* l, int ld, int rows, int order, int apart, int cols,
                                    const T* u, const Staging<T>& staging) {
    const auto lines = [=](int row) {
        T* const line = l + static_cast<Index>(row) * ld;
        return ProductLine<T>{line, line + apart, line + apart};
    };
    BASALT_ROLLED
    for (int row = thread.warp * units * unit_rows; row < rows; row += thread.warps * units * unit_rows) {
        ProductRows<units, tiles, T> part(thread, lines, row, rows, cols);
        part.template multiply<peeled>(thread, order, u);
        part.template store<staged>(staging);
    }
}

/// The same for an even order of less than 16, with C right of L and no more columns in it: too few for tensor cores. A
/// thread has two elements of C; its neighbours have the row's others and read the same of L.
template <class Thread, class T>
BASALT_DEVICE void subtract_narrow_product(const Thread& thread, T* l, int ld, int rows, int order, int cols,
                                           const T* u) {
    const int pairs = order / 2;
    BASALT_ROLLED
    for (int i = thread.warp * warp_lanes + thread.lane; i < rows * pairs; i += thread.warps * warp_lanes) {
        const int row = i / pairs, col = i % pairs * 2;
        if (col >= cols) continue;
        T* const line = l + static_cast<Index>(row) * ld;
        T* const at = line + order + col;
        Pair<T> c = load_pair<true>(at);
        BASALT_ROLLED
        for (int k = 0; k < order; k += 2) {
            const Pair<T> multipliers = load_pair<true>(line + k);
            const Pair<T> even = load_pair<true>(u + k * shared_ld + col),
                          odd = load_pair<true>(u + (k + 1) * shared_ld + col);
            c.first -= multipliers.first * even.first + multipliers.second * odd.first;
            c.second -= multipliers.first * even.second + multipliers.second * odd.second;
        }
        if (col + 1 < cols) {
            store_pair<true>(at, c);
        } else {  // rows are aligned for pairs, but the last column may have no neighbour
            *at = c.first;
        }
    }
}

}  // namespace basalt::cuda_detail
