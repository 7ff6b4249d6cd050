#pragma once

#include <basalt/triangle.hpp>

#include "kernels/cuda/batch/lu_small.hpp"
#include "kernels/cuda/batch/pivot_candidates.hpp"

/// LU of orders up to 512: a matrix in a block, left-looking by panels, a row to a thread.
///
/// As in lu_small.hpp rows stay with their threads: a thread knows the place of its row among the pivots. A panel's
/// columns of a row lie in registers. Finished panels lie in shared memory where the matrix fits, so that it is read
/// and written once. Otherwise they overwrite A, whose rows are put in order at the end.
namespace basalt::cuda_detail::batch {

/// Shared memory of a block, with finished panels if they reside here.
template <class T, int width>
struct LuBlockMemory {
    T* square;    ///< L on the diagonal: width x width a panel, row-major
    T* upper;     ///< two squares of U, row-major
    T* row;       ///< the pivot's, twice
    T* sizes;     ///< of the candidates of warps, twice
    T* factors;   ///< column-major, or null
    int* places;  ///< of the candidates of warps, twice
    int* info;
    int order;  ///< padded to the width: also the leading dimension of factors

    BASALT_DEVICE static constexpr int padded(int n) { return (n + width - 1) / width * width; }
    static std::size_t bytes(int n, Residence panels) {
        const bool resident = panels == Residence::shared;
        const auto order = static_cast<std::size_t>(padded(n));
        const std::size_t elements =
            order * width + 2 * width * width + 2 * width + 2 * most_block_warps + (resident ? order * order : 0);
        const std::size_t all = elements * sizeof(T) + (2 * most_block_warps + 4) * sizeof(int);
        return (all + 15) / 16 * 16;
    }
    BASALT_DEVICE LuBlockMemory(void* raw, int n, Residence panels) : order(padded(n)) {
        const bool resident = panels == Residence::shared;
        square = static_cast<T*>(raw);
        upper = square + order * width;
        row = upper + 2 * width * width;
        sizes = row + 2 * width;
        T* const end = sizes + 2 * most_block_warps;
        factors = resident ? end : nullptr;
        places = reinterpret_cast<int*>(end + (resident ? order * order : 0));
        info = places + 2 * most_block_warps;
    }
};

/// Threads of a block for order n.
inline int lu_block_threads(int n) { return padded_to_warp(n); }

/// The largest order whose finished panels lie in shared memory. Above, lu_tiles.hpp is faster (decision 36).
template <class T>
constexpr int most_resident_lu_order = sizeof(T) == 4 ? 96 : 48;

/// What a kernel is compiled for: threads of a block, and blocks that share a multiprocessor at least, which limits
/// registers.
struct LuBlockBounds {
    int threads, blocks;
};
/// 128 registers, which hold a panel of 8 columns.
constexpr LuBlockBounds widest_lu_bounds{512, 1};
/// Of kernels with finished panels in shared memory, which limits the number of blocks by itself.
constexpr LuBlockBounds resident_lu_bounds{256, 1};

/// Finished panels.
template <Residence residence, class T>
struct LuPanels {
    T* first;
    Index ld;
    BASALT_DEVICE T* at(int i, int j) const { return first + i + j * ld; }
};

/// The best candidate of the block, the same in all threads. The block meets once.
template <class T, int width, class Thread>
BASALT_DEVICE int best_of_block(const Thread& thread, const LuBlockMemory<T, width>& memory, Candidate<T> own, int k) {
    own = best_of_lanes(thread, own);
    T* const sizes = memory.sizes + k % 2 * most_block_warps;
    int* const places = memory.places + k % 2 * most_block_warps;
    if (thread.lane == 0) {
        sizes[thread.warp] = own.size;
        places[thread.warp] = own.place;
    }
    thread.sync();
    Candidate<T> best{sizes[0], places[0]};
    BASALT_ROLLED
    for (int w = 1; w < thread.warps; ++w) best = better(best, Candidate<T>{sizes[w], places[w]});
    return best.place;
}

/// A thread's row.
template <class T, int width>
struct LuBlockRow {
    int number, place, info;
    T panel[width];
};

/// The products with the finished panel q, whose rows of U are still to be computed for this panel.
template <Residence residence, int width, class T, class Thread>
BASALT_DEVICE void apply_panel(const Thread& thread, const LuBlockMemory<T, width>& memory,
                               const LuPanels<residence, T>& panels, int q, LuBlockRow<T, width>& row) {
    T* const u = memory.upper + q % 2 * width * width;
    const int own = row.place - q * width;
    if (own >= 0 && own < width && row.number < memory.order) {
        BASALT_UNROLL
        for (int c = 0; c < width; ++c) u[own * width + c] = row.panel[c];
    }
    thread.sync();
    if (thread.warp == 0 && thread.lane < width) {
        const T* const l = memory.square + q * width * width;
        T x[width];
        BASALT_UNROLL
        for (int k = 0; k < width; ++k) {
            x[k] = u[k * width + thread.lane];
            BASALT_UNROLL
            for (int d = 0; d < k; ++d) x[k] -= l[k * width + d] * x[d];
            u[k * width + thread.lane] = x[k];
        }
    }
    thread.sync();
    if (row.number >= memory.order || own < 0) return;
    if (own < width) {
        BASALT_UNROLL
        for (int c = 0; c < width; ++c) row.panel[c] = u[own * width + c];
        return;
    }
    BASALT_UNROLL
    for (int k = 0; k < width; ++k) {
        const T m = *panels.at(row.number, q * width + k);
        BASALT_UNROLL
        for (int c = 0; c < width; ++c) row.panel[c] -= m * u[k * width + c];
    }
}

/// Panel p, whose updates are done. `pivots` is null without pivoting. Columns of the padding are not eliminated: rows
/// of the padding need no threads.
template <int width, class T, class Thread>
BASALT_DEVICE void factor_panel(const Thread& thread, const LuBlockMemory<T, width>& memory, int n, int p,
                                LuBlockRow<T, width>& row, Index* pivots) {
    BASALT_UNROLL
    for (int c = 0; c < width; ++c) {
        const int k = p * width + c;
        if (k >= n) break;
        if (pivots != nullptr) {
            const int chosen =
                best_of_block(thread, memory,
                              row.number >= n ? no_candidate<T>(row.place) : candidate(row.panel[c], row.place, k), k);
            if (row.number == 0) pivots[k] = chosen + 1;
            row.place = row.place == chosen ? k : row.place == k ? chosen : row.place;
        }
        T* const pivot_row = memory.row + c % 2 * width;
        if (row.place == k) {
            BASALT_UNROLL
            for (int d = c; d < width; ++d) pivot_row[d] = row.panel[d];
        }
        thread.sync();
        const T pivot = pivot_row[c];
        if (row.info == 0 && pivot == T{0}) row.info = k + 1;
        if (row.place > k) {
            const T m = multiplier(row.panel[c], pivot, T{1} / pivot);
            row.panel[c] = m;
            BASALT_UNROLL
            for (int d = c + 1; d < width; ++d) row.panel[d] -= m * pivot_row[d];
        }
    }
    const int own = row.place - p * width;
    if (own >= 0 && own < width) {
        BASALT_UNROLL
        for (int c = 0; c < width; ++c) memory.square[(p * width + own) * width + c] = row.panel[c];
    }
}

/// Rows of A in the order of their places, in A's place, `width` columns at a time.
template <int width, class T, class Thread>
BASALT_DEVICE void put_rows_in_order(const Thread& thread, const Whole<T>& a, int number, int place) {
    BASALT_ROLLED
    for (int first = 0; first < a.cols; first += width) {
        T values[width];
        BASALT_UNROLL
        for (int c = 0; c < width; ++c) {
            if (a.holds(number, first + c)) values[c] = *a.at(number, first + c);
        }
        thread.sync();
        BASALT_UNROLL
        for (int c = 0; c < width; ++c) {
            if (a.holds(number, first + c)) *a.at(place, first + c) = values[c];
        }
    }
}

/// A := its factors, in place. `pivots` is null without pivoting. Returns INFO in all threads.
template <Residence residence, int width, class T, class Thread>
BASALT_DEVICE int lu_factor_block(const Thread& thread, const LuBlockMemory<T, width>& memory, const Whole<T>& a,
                                  Index* pivots) {
    constexpr bool resident = residence == Residence::shared;
    const LuPanels<residence, T> panels{resident ? memory.factors : a.a, resident ? memory.order : a.ld};
    LuBlockRow<T, width> row{};
    row.number = row.place = thread.warp * lanes + thread.lane;
    BASALT_ROLLED
    for (int p = 0; p * width < memory.order; ++p) {
        BASALT_UNROLL
        for (int c = 0; c < width; ++c) row.panel[c] = a.load(row.number, p * width + c);
        BASALT_ROLLED
        for (int q = 0; q < p; ++q) apply_panel(thread, memory, panels, q, row);
        factor_panel(thread, memory, a.rows, p, row, pivots);
        BASALT_UNROLL
        for (int c = 0; c < width; ++c) {
            const bool there = resident ? row.number < memory.order : a.holds(row.number, p * width + c);
            if (there) *panels.at(row.number, p * width + c) = row.panel[c];
        }
        thread.sync();
    }
    if constexpr (resident) {
        BASALT_ROLLED
        for (int j = 0; j < a.cols; ++j) {
            if (row.number < a.rows) *a.at(row.place, j) = *panels.at(row.number, j);
        }
    } else {
        if (pivots != nullptr) put_rows_in_order<width>(thread, a, row.number, row.place);
    }
    return row.info;
}

// ---- solves ---------------------------------------------------------------------------------------------

/// Shared memory of a block that solves: right-hand sides, and rows that the exchanges brought.
template <class T, int sides>
struct LuSolveMemory {
    T* x;       ///< order x sides
    int* rows;  ///< order
    int order;  ///< padded to a warp

    static std::size_t bytes(int n) {
        const auto order = static_cast<std::size_t>(lu_block_threads(n));
        return order * sides * sizeof(T) + order * sizeof(int);
    }
    BASALT_DEVICE LuSolveMemory(void* raw, int n) : x(static_cast<T*>(raw)), order(padded_to_warp(n)) {
        rows = reinterpret_cast<int*>(x + order * sides);
    }
};

/// x := T^-1 x for a triangle of A. Blocks of a warp's columns.
template <Triangle triangle, Diagonal diagonal, int sides, class T, class Thread>
BASALT_DEVICE void substitute_block(const Thread& thread, const Whole<const T>& a, T* x, int order) {
    constexpr bool upper = triangle == Triangle::upper;
    const int number = thread.warp * lanes + thread.lane, blocks = order / lanes;
    BASALT_ROLLED
    for (int step = 0; step < blocks; ++step) {
        const int first = (upper ? blocks - 1 - step : step) * lanes;
        if (thread.warp == 0) {
            const int i = first + thread.lane;
            T value[sides];
            BASALT_UNROLL
            for (int s = 0; s < sides; ++s) value[s] = x[s * order + i];
            const T reciprocal = diagonal == Diagonal::stored ? T{1} / a.load(i, i) : T{1};
            BASALT_ROLLED
            for (int t = 0; t < lanes; ++t) {
                const int k = upper ? lanes - 1 - t : t;
                const bool later = upper ? thread.lane < k : thread.lane > k;
                const T element = later ? a.load(i, first + k) : T{0};
                BASALT_UNROLL
                for (int s = 0; s < sides; ++s) {
                    const T solved = thread.from_lane(value[s] * reciprocal, k);
                    value[s] = thread.lane == k ? solved : later ? value[s] - element * solved : value[s];
                }
            }
            BASALT_UNROLL
            for (int s = 0; s < sides; ++s) x[s * order + i] = value[s];
        }
        thread.sync();
        if (upper ? number < first : number >= first + lanes && number < order) {
            T sum[sides] = {};
            BASALT_ROLLED
            for (int k = 0; k < lanes; ++k) {
                const T element = a.load(number, first + k);
                BASALT_UNROLL
                for (int s = 0; s < sides; ++s) sum[s] += element * x[s * order + first + k];
            }
            BASALT_UNROLL
            for (int s = 0; s < sides; ++s) x[s * order + number] -= sum[s];
        }
        thread.sync();
    }
}

/// Which row the exchanges bring to each place.
template <class Thread>
BASALT_DEVICE void exchange_in_order(const Thread& thread, int* rows, int n, const Index* pivots) {
    const int number = thread.warp * lanes + thread.lane;
    rows[number] = number;
    thread.sync();
    if (pivots != nullptr && number == 0) {
        BASALT_ROLLED
        for (int k = 0; k < n; ++k) {
            const int other = static_cast<int>(pivots[k]) - 1, here = rows[k];
            rows[k] = rows[other];
            rows[other] = here;
        }
    }
    thread.sync();
}

/// B := A^-1 B with the factors of A; `pivots` is null without pivoting.
template <int sides, class T, class Thread>
BASALT_DEVICE void lu_solve_block(const Thread& thread, const LuSolveMemory<T, sides>& memory, const Whole<const T>& a,
                                  const Index* pivots, const RightSides<T>& right) {
    const int number = thread.warp * lanes + thread.lane;
    exchange_in_order(thread, memory.rows, a.rows, pivots);
    for (Index first = 0; first < right.cols; first += sides) {
        BASALT_UNROLL
        for (int s = 0; s < sides; ++s) {
            const bool there = number < a.rows && first + s < right.cols;
            memory.x[s * memory.order + number] = there ? right.b[memory.rows[number] + (first + s) * right.ld] : T{0};
        }
        thread.sync();
        substitute_block<Triangle::lower, Diagonal::unit, sides>(thread, a, memory.x, memory.order);
        substitute_block<Triangle::upper, Diagonal::stored, sides>(thread, a, memory.x, memory.order);
        BASALT_UNROLL
        for (int s = 0; s < sides; ++s) {
            if (number < a.rows && first + s < right.cols) {
                right.b[number + (first + s) * right.ld] = memory.x[s * memory.order + number];
            }
        }
        thread.sync();  // what comes next to x was read
    }
}

/// C := A^-1 with the factors of A, which do not lie in C's place. Returns INFO in all threads; C stays as it is where
/// that is not 0.
template <int sides, class T, class Thread>
BASALT_DEVICE int lu_invert_block(const Thread& thread, const LuSolveMemory<T, sides>& memory, const Whole<const T>& a,
                                  const Index* pivots, const Whole<T>& inverse) {
    const int number = thread.warp * lanes + thread.lane;
    exchange_in_order(thread, memory.rows, a.rows, pivots);
    const int source = memory.rows[number];
    thread.sync();
    memory.rows[number] = number < a.rows && *a.at(number, number) == T{0} ? 1 : 0;
    thread.sync();
    BASALT_ROLLED
    for (int k = 0; k < a.rows; ++k) {
        if (memory.rows[k] != 0) return k + 1;
    }
    BASALT_ROLLED
    for (int first = 0; first < a.rows; first += sides) {
        BASALT_UNROLL
        for (int s = 0; s < sides; ++s) {
            memory.x[s * memory.order + number] = source == first + s && number < a.rows ? T{1} : T{0};
        }
        thread.sync();
        substitute_block<Triangle::lower, Diagonal::unit, sides>(thread, a, memory.x, memory.order);
        substitute_block<Triangle::upper, Diagonal::stored, sides>(thread, a, memory.x, memory.order);
        BASALT_UNROLL
        for (int s = 0; s < sides; ++s) {
            if (inverse.holds(number, first + s)) {
                *inverse.at(number, first + s) = memory.x[s * memory.order + number];
            }
        }
        thread.sync();
    }
    return 0;
}

}  // namespace basalt::cuda_detail::batch
