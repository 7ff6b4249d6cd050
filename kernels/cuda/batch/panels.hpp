#pragma once

#include <cstddef>

#include "kernels/cuda/batch/eliminate.hpp"
#include "kernels/cuda/batch/small.hpp"

/// Orders that lanes do not hold (cholesky_lanes.hpp, small.hpp): a matrix in a block of threads. Left-looking by
/// panels, each of which is read and written once; right-looking within a panel, whose rows lie in registers. The
/// panels to its left lie in shared memory.
namespace basalt::cuda_detail::batch {

/// Order in whole panels.
constexpr int padded_order(int n, int width) { return (n + width - 1) / width * width; }

constexpr int most_panel_threads = 256;

/// Blocks that share a multiprocessor at least, for the compiler's choice of registers: as few registers as need no
/// spills, because they limit how many small blocks there are.
template <class T, int width>
constexpr int panel_blocks = width * sizeof(T) <= 32   ? 3
                             : width * sizeof(T) <= 64 ? 2
                                                       : 1;

/// Matrices of higher order in double precision are factored by tiles (cholesky_tiles.hpp).
constexpr int most_panel_factor = 112;
/// There is a kernel for blocks of up to 128, 192 and 256 threads each. Most threads of the one for `threads`.
constexpr int tiles_factor_bound(int threads) { return threads <= 128 ? 128 : threads <= 192 ? 192 : 256; }
/// Least number of its blocks on a multiprocessor: more warps are worth more than more registers for each thread.
constexpr int tiles_factor_blocks(int bound) { return bound <= 128 ? 4 : 2; }
/// Whether a thread has more than 128 registers. With few, fewer products are arranged together, and tiles that are not
/// needed lie in shared memory for a while.
enum class Registers { few, many };
constexpr Registers tiles_factor_registers(int bound, int blocks) {
    return 65536 / (bound * blocks) > 128 ? Registers::many : Registers::few;
}
/// Whether orders above 32 are factored and solved in one kernel in less time than in two, where the factor is kept.
template <class T>
constexpr bool one_kernel_is_faster(Index n, Index sides) {
    return sides == 1 && (sizeof(T) == 4 || n <= most_panel_factor);
}

// Systems with one right-hand side in single precision, of orders that lanes do not hold, are solved by panels with the
// factor where it is: fewer would be at work at once if shared memory held it, and each element is needed once
// (docs/decisions/0036-batch-tuner.md). In double precision they are solved by tiles (solve_tiles.hpp).

/// Columns of such a panel.
constexpr int unpacked_solve_width = 8;
/// Threads of the kernel for orders up to 128, which has more registers for each.
constexpr int narrow_solve_threads = 128;
/// Blocks of a kernel for one right-hand side that share a multiprocessor at least: it waits for memory.
constexpr int unpacked_solve_blocks = 8;

/// A thread to a row, in whole warps.
constexpr int panel_threads(int n, int width) { return padded_to_warp(padded_order(n, width)); }

/// L in shared memory: panels of `width` columns one behind the other, each column-major from the panel's first row on.
/// Every column, and every row that begins a panel, is aligned for chunks.
template <class T, int width>
struct PackedFactor {
    T* data;
    int order;  ///< padded

    static constexpr int columns_at_once = 4;  ///< whose products a thread interleaves

    static constexpr int elements(int order, int panels) {
        return width * (panels * order - width * (panels * (panels - 1) / 2));
    }

    /// The address of L(0, k) for the columns of panel p, as if rows above the panel were stored, too.
    BASALT_DEVICE T* column(int p, int k) const {
        return data + elements(order, p) + k * (order - p * width) - p * width;
    }
    BASALT_DEVICE T at(int i, int p, int k) const { return column(p, k)[i]; }
    BASALT_DEVICE Chunk<T> chunk(int i, int p, int k) const { return load_chunk(column(p, k) + i); }
};

/// L in the GPU's memory, where shared memory does not hold it.
template <class T, int width>
struct UnpackedFactor {
    Operand<T> l;

    static constexpr int columns_at_once = 1;  // addresses take registers

    BASALT_DEVICE T at(int i, int p, int k) const { return l.load(i, p * width + k); }
    BASALT_DEVICE Chunk<std::remove_const_t<T>> chunk(int i, int p, int k) const {
        Chunk<std::remove_const_t<T>> chunk;
        BASALT_UNROLL
        for (int e = 0; e < chunk.size; ++e) chunk.value[e] = at(i + e, p, k);
        return chunk;
    }
};

/// Shared memory of a block, which begins at an address that is a multiple of 16.
template <class T, int width>
struct PanelMemory {
    T* columns;   ///< of the square on the diagonal, before they are scaled: width x width
    T* x;         ///< right-hand sides, `order` elements each
    int* failed;  ///< INFO
    PackedFactor<T, width> l;

    static constexpr std::size_t bytes(int order, int sides, Residence factor) {
        const int l = factor == Residence::shared ? PackedFactor<T, width>::elements(order, order / width) : 0;
        return 16 + static_cast<std::size_t>(width * width + sides * order + l) * sizeof(T);
    }

    BASALT_DEVICE PanelMemory(void* raw, int order, int sides)
        : columns(reinterpret_cast<T*>(static_cast<unsigned char*>(raw) + 16)),
          x(columns + width * width),
          failed(static_cast<int*>(raw)),
          l{x + sides * order, order} {}
};

/// sum += L(i, :j0) L(j0 : j0 + width, :j0)^T for the panels before panel p, whose first row and column is j0.
template <int width, class T, class Factor>
BASALT_DEVICE void add_products(T (&sum)[width], const Factor& l, int i, int p) {
    constexpr int size = Chunk<T>::size, at_once = Factor::columns_at_once;
    BASALT_ROLLED
    for (int q = 0; q < p; ++q) {
        BASALT_ROLLED
        for (int first = 0; first < width; first += at_once) {
            BASALT_UNROLL
            for (int k = 0; k < at_once; ++k) {
                const T own = l.at(i, q, first + k);
                BASALT_UNROLL
                for (int g = 0; g < width / size; ++g) {
                    const Chunk<T> chunk = l.chunk(p * width + g * size, q, first + k);
                    BASALT_UNROLL
                    for (int e = 0; e < size; ++e) sum[g * size + e] += own * chunk.value[e];
                }
            }
        }
    }
}

/// A := L in place, unless it is discarded, and into shared memory if finished panels lie there. All threads of a block
/// of panel_threads() come here. The first warp returns INFO, the others 0.
template <Residence residence, int width, class T, class Thread>
BASALT_DEVICE int factor_panels(const Thread& thread, const PanelMemory<T, width>& memory, const Operand<T>& a,
                                FactorOutput output) {
    const int order = memory.l.order, number = thread.warp * lanes + thread.lane;
    int info = 0;
    BASALT_ROLLED
    for (int p = 0; p * width < order; ++p) {
        const int first = p * width, i = first + number;
        const bool warp_has_rows = first + thread.warp * lanes < order;
        T row[width] = {}, sum[width] = {};
        if (warp_has_rows) {
            BASALT_UNROLL
            for (int c = 0; c < width; ++c) row[c] = a.load(i, first + c);
            const int stored = i < order ? i : order - 1;
            if constexpr (residence == Residence::shared) {
                add_products<width>(sum, memory.l, stored, p);
            } else {
                add_products<width>(sum, UnpackedFactor<T, width>{a}, stored, p);
            }
            BASALT_UNROLL
            for (int c = 0; c < width; ++c) row[c] -= sum[c];
        }
        if (thread.warp == 0) {
            const int failed = eliminate<SquareRows::here, width>(thread, row, memory.columns, thread.lane);
            if (info == 0 && failed > 0) info = first + failed;
        }
        thread.sync();
        if (thread.warp > 0 && warp_has_rows)
            eliminate<SquareRows::elsewhere, width>(thread, row, memory.columns, width);
        BASALT_UNROLL
        for (int c = 0; c < width; ++c) {
            if (residence == Residence::shared && i < order) memory.l.column(p, c)[i] = row[c];
            if (output == FactorOutput::keep && a.holds(i, first + c)) *a.at(i, first + c) = row[c];
        }
        thread.sync();
    }
    return info;
}

/// The square on the diagonal of panel p, by the first warp: x := L^-1 x forward, L^-T x backward.
template <Sweep sweep, int width, int sides, class T, class Factor, class Thread>
BASALT_DEVICE void substitute_square(const Thread& thread, const Factor& l, T* x, int order, int p) {
    constexpr bool back = sweep == Sweep::backward;
    const int own = thread.lane < width ? thread.lane : width - 1, i = p * width + own;
    const T reciprocal = T{1} / l.at(i, p, own);
    T value[sides];
    BASALT_UNROLL
    for (int s = 0; s < sides; ++s) value[s] = thread.lane < width ? x[s * order + i] : T{0};
    BASALT_UNROLL
    for (int step = 0; step < width; ++step) {
        const int k = back ? width - 1 - step : step;
        const bool later = back ? own < k : own > k;
        const T element = !later ? T{0} : back ? l.at(p * width + k, p, own) : l.at(i, p, k);
        BASALT_UNROLL
        for (int s = 0; s < sides; ++s) {
            const T solved = thread.from_lane(value[s] * reciprocal, k);
            value[s] = own == k ? solved : value[s] - (later ? element * solved : T{0});
        }
    }
    BASALT_UNROLL
    for (int s = 0; s < sides; ++s) {
        if (thread.lane < width) x[s * order + i] = value[s];
    }
}

/// x := L^-1 x for all right-hand sides in shared memory.
template <int width, int sides, class T, class Factor, class Thread>
BASALT_DEVICE void substitute_forward(const Thread& thread, const Factor& l, T* x, int order) {
    const int number = thread.warp * lanes + thread.lane;
    BASALT_ROLLED
    for (int p = 0; p * width < order; ++p) {
        if (thread.warp == 0) substitute_square<Sweep::forward, width, sides>(thread, l, x, order, p);
        thread.sync();
        const int i = (p + 1) * width + number;
        if (i < order) {
            T sum[sides] = {};
            BASALT_UNROLL
            for (int k = 0; k < width; ++k) {
                const T element = l.at(i, p, k);
                BASALT_UNROLL
                for (int s = 0; s < sides; ++s) sum[s] += element * x[s * order + p * width + k];
            }
            BASALT_UNROLL
            for (int s = 0; s < sides; ++s) x[s * order + i] -= sum[s];
        }
        thread.sync();
    }
}

/// x := L^-T x. A warp adds up what the rows below a panel contribute to one of its columns.
template <int width, int sides, class T, class Factor, class Thread>
BASALT_DEVICE void substitute_back(const Thread& thread, const Factor& l, T* x, int order) {
    BASALT_ROLLED
    for (int p = order / width - 1; p >= 0; --p) {
        for (int c = thread.warp; c < width; c += thread.warps) {
            T sum[sides] = {};
            for (int i = (p + 1) * width + thread.lane; i < order; i += lanes) {
                const T element = l.at(i, p, c);
                BASALT_UNROLL
                for (int s = 0; s < sides; ++s) sum[s] += element * x[s * order + i];
            }
            BASALT_UNROLL
            for (int distance = lanes / 2; distance > 0; distance /= 2) {
                BASALT_UNROLL
                for (int s = 0; s < sides; ++s) sum[s] += thread.from_lane(sum[s], thread.lane ^ distance);
            }
            BASALT_UNROLL
            for (int s = 0; s < sides; ++s) {
                if (thread.lane == 0) x[s * order + p * width + c] -= sum[s];
            }
        }
        thread.sync();
        if (thread.warp == 0) substitute_square<Sweep::backward, width, sides>(thread, l, x, order, p);
        thread.sync();
    }
}

/// B := L^-T L^-1 B, `sides` columns at a time. The caller has met the other threads after L was stored.
template <int width, int sides, class T, class Factor, class Thread>
BASALT_DEVICE void solve_panels(const Thread& thread, const PanelMemory<T, width>& memory, const Factor& l, int n,
                                const RightSides<T>& right) {
    const int order = memory.l.order, i = thread.warp * lanes + thread.lane;
    for (Index first = 0; first < right.cols; first += sides) {
        BASALT_UNROLL
        for (int s = 0; s < sides; ++s) {
            const bool there = i < n && first + s < right.cols;
            if (i < order) memory.x[s * order + i] = there ? right.b[i + (first + s) * right.ld] : T{0};
        }
        thread.sync();
        substitute_forward<width, sides>(thread, l, memory.x, order);
        substitute_back<width, sides>(thread, l, memory.x, order);
        BASALT_UNROLL
        for (int s = 0; s < sides; ++s) {
            if (i < n && first + s < right.cols) right.b[i + (first + s) * right.ld] = memory.x[s * order + i];
        }
        // a thread writes only elements that it has read itself, so the next columns need no barrier here
    }
}

/// B := A^-1 B where the operand holds the factor of A.
template <Residence residence, int width, int sides, class T, class Thread>
BASALT_DEVICE void load_solve_panels(const Thread& thread, const PanelMemory<T, width>& memory,
                                     const Operand<const T>& a, const RightSides<T>& right) {
    if constexpr (residence == Residence::shared) {
        const int order = memory.l.order, number = thread.warp * lanes + thread.lane;
        BASALT_ROLLED
        for (int p = 0; p * width < order; ++p) {
            const int i = p * width + number;
            if (i >= order) break;
            BASALT_UNROLL
            for (int c = 0; c < width; ++c) memory.l.column(p, c)[i] = a.load(i, p * width + c);
        }
        thread.sync();
        solve_panels<width, sides>(thread, memory, memory.l, a.n, right);
    } else {
        solve_panels<width, sides>(thread, memory, UnpackedFactor<const T, width>{a}, a.n, right);
    }
}

/// Factor and solve in one pass. B stays as it is where a pivot fails. Returns INFO in the first warp.
template <int width, int sides, class T, class Thread>
BASALT_DEVICE int factor_solve_panels(const Thread& thread, const PanelMemory<T, width>& memory, const Operand<T>& a,
                                      FactorOutput output, const RightSides<T>& right) {
    const int info = factor_panels<Residence::shared, width>(thread, memory, a, output);
    if (thread.warp == 0 && thread.lane == 0) *memory.failed = info;
    thread.sync();
    if (*memory.failed == 0) solve_panels<width, sides>(thread, memory, memory.l, a.n, right);
    return info;
}

}  // namespace basalt::cuda_detail::batch
