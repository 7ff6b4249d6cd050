#pragma once

#include "kernels/cuda/panel_leaf.cuh"

/// What a team of blocks does to a panel between its leaves.
namespace basalt::cuda_detail {

/// Columns of L and of U that are multiplied at once: what fits into shared memory.
constexpr int product_depth = 128;
constexpr int product_cols = 128;

template <class T>
struct ProductShared {
    alignas(16) T u[product_cols / strip_cols][product_depth * shared_ld];
};

/// Moves the rows of all columns outside [col, col + count) as the leaf's interchanges of `pivots` rows did inside.
/// Columns are dealt to blocks.
template <class T, int width>
__device__ __forceinline__ void move_rows(PanelView<T> panel, int col, int count, int pivots,
                                          const LeafMoves<width>& moves, int rank, int size, BlockThread thread) {
    const int others = panel.cols - count, each = (others + size - 1) / size;
    const int end = min((rank + 1) * each, others);
    const int lines = 2 * pivots, at_once = team_threads / lines;
    const int line = thread.number / at_once;
    int from = 0, to = 0;
    if (line < pivots) {
        from = moves.pivot_source[line];
        to = col + line;
    } else if (line < lines && moves.top_target[line - pivots] >= col + pivots) {
        from = col + line - pivots;
        to = moves.top_target[line - pivots];
    }
#pragma unroll 1
    for (int first = rank * each; first < end; first += at_once) {
        const int number = first + thread.number % at_once;
        const int column = number < col ? number : number + count;
        const bool moves_it = number < end && from != to;
        const T value = moves_it ? *panel.at(from, column) : T{0};
        __syncthreads();
        if (moves_it) *panel.at(to, column) = value;
    }
}

/// U = L^-1 A for rows [top, top + order) and columns [right, right + cols), in strips of 32 columns that are dealt to
/// blocks.
template <class T>
__device__ __noinline__ void solve_right(PanelView<T> panel, int top, int order, int right, int cols,
                                         StripMemory<T>& shared, int rank, int size, BlockThread thread) {
#pragma unroll 1
    for (int strip = rank; strip * strip_cols < cols; strip += size) {
        const int first = strip * strip_cols;
        T* const u = panel.at(top, right + first);
        const int width = min(strip_cols, cols - first);
        const Strip<T> part{panel.at(top, top), panel.ld, nullptr, 0, u, panel.ld, u, panel.ld, order, width};
        solve_strip<BySubstitution, true>(thread, shared, part);
        __syncthreads();
    }
}

template <class T>
struct SmallSolveShared {
    alignas(16) T l[solved_rows * solved_rows];  ///< by columns
};

/// U = L^-1 A as solve_right(), for at most 32 columns: a lane has a column. All blocks do the same, and each keeps U
/// in shared memory, so that they need not wait for each other.
template <class T>
__device__ __forceinline__ void solve_few(const PanelView<T> panel, int top, int order, int right, int cols,
                                          SmallSolveShared<T>& shared, T* u, BlockThread thread) {
    constexpr int part = 8;  // of the rows, which are a multiple of it
    T x[solved_rows];
#pragma unroll
    for (int k = 0; k < solved_rows; ++k) {
        const bool exists = thread.warp == 0 && k < order && thread.lane < cols;
        x[k] = exists ? *panel.at(top + k, right + thread.lane) : T{0};
    }
#pragma unroll
    for (int n = 0; n < solved_rows * solved_rows / team_threads; ++n) {
        const int i = thread.number + n * team_threads, row = i / solved_rows, col = i % solved_rows;
        if (row < order && col < row) shared.l[col * solved_rows + row] = *panel.at(top + row, top + col);
    }
    __syncthreads();
    if (thread.warp == 0) {
#pragma unroll
        for (int k = 0; k < solved_rows; ++k) {
            if (k < order) {
#pragma unroll
                for (int first = k / part * part; first < solved_rows; first += part) {
                    if (first < order) {
#pragma unroll
                        for (int r = first; r < first + part; ++r) {
                            if (r > k) x[r] -= shared.l[k * solved_rows + r] * x[k];
                        }
                    }
                }
                u[k * shared_ld + thread.lane] = x[k];
            }
        }
    }
    __syncthreads();
}

/// Their U to the panel.
template <class T>
__device__ __forceinline__ void store_few(const PanelView<T> panel, int top, int order, int right, int cols, const T* u,
                                          BlockThread thread) {
    for (int i = thread.number; i < order * strip_cols; i += team_threads) {
        const int col = i % strip_cols, row = i / strip_cols;
        if (col < cols) *panel.at(top + row, right + col) = u[row * shared_ld + col];
    }
}

/// Rows and columns of U to shared memory, in strips; zeros where there are none.
template <class T>
__device__ __forceinline__ void fetch_u(PanelView<T> panel, int top, int order, int right, int cols,
                                        ProductShared<T>& shared, BlockThread thread) {
    constexpr int piece = 2;  // rows of strips are that far from each other
    constexpr int pieces = strip_cols / piece;
    const int strips = (cols + strip_cols - 1) / strip_cols;
    for (int i = thread.number; i < strips * order * pieces; i += team_threads) {
        const int part = i % pieces * piece, row = i / pieces % order, strip = i / (pieces * order);
        const int col = strip * strip_cols + part;
        T* const to = &shared.u[strip][row * shared_ld + part];
        const T* const from = panel.at(top + row, right + col);
        if (col + piece <= cols) {
            copy_to_shared<piece>(to, from);
        } else {
            for (int c = 0; c < piece; ++c) to[c] = col + c < cols ? from[c] : T{0};
        }
    }
    wait_for_copies();
}

/// C of the product, in the place that solve_strip.hpp has for W and U.
template <class T>
__device__ Strip<T> strip_of(const PanelView<T> panel, BlockRows rows, int row, int col, int cols) {
    T* const c = panel.at(rows.begin + row, col);
    return {nullptr, 0, nullptr, 0, c, panel.ld, c, panel.ld, rows.count() - row, cols};
}

/// Rows are aligned for pairs, but the last column may have no neighbour of its own.
template <class T>
__device__ __forceinline__ void store_c(const Strip<T>& c, int row, int col, Pair<T> values) {
    if (col + 1 < c.cols) {
        store_u<true>(c, row, col, values);
    } else {
        store_u<false>(c, row, col, values);
    }
}

/// A(rows, col ..) -= L U for `strips` strips of `tiles` * 8 columns. L: the columns [l_col, l_col + order). A warp has
/// `units` times 16 rows at once, so that enough of them is on its way.
template <int units, int strips, int tiles, class T>
__device__ __forceinline__ void subtract_product(const PanelView<T> panel, BlockRows rows, int l_col, int order,
                                                 int col, int cols, const T (*u)[product_depth * shared_ld],
                                                 BlockThread thread) {
    constexpr int ahead = tiles == 4 && units == 2 ? 1 : 2;
    const int g = thread.lane / 4, t = thread.lane % 4;
    const T* const l_at = panel.at(rows.begin, l_col);
#pragma unroll 1
    for (int first = thread.warp * units; first * unit_rows < rows.count(); first += team_warps * units) {
        OperandRows l[units];
        Operand<T> operands[units][ahead];
        Sums<T, tiles> minus[units][strips];
#pragma unroll
        for (int n = 0; n < units; ++n) {
            const int row = (first + n) * unit_rows;
            l[n] = OperandRows::of<T>(panel.ld, thread.lane, row, rows.count());
#pragma unroll
            for (int i = 0; i < ahead; ++i) {
                if (i * depth < order) operands[n][i] = l[n].load<true>(l_at, i * depth);
            }
            const Strip<T> c = strip_of(panel, rows, row, col, cols);
#pragma unroll
            for (int s = 0; s < strips; ++s) {
#pragma unroll
                for (int j = 0; j < tiles; ++j) {
                    const int at = s * strip_cols + j * tile_cols + 2 * t;
                    minus[n][s].of[j].upper = negated_w<true>(c, g, at);
                    minus[n][s].of[j].lower = negated_w<true>(c, g + unit_rows / 2, at);
                }
            }
        }
#pragma unroll 1
        for (int d = 0; d < order; d += ahead * depth) {
#pragma unroll
            for (int i = 0; i < ahead; ++i) {
                const int now = d + i * depth, later = now + ahead * depth;
                if (now >= order) break;
#pragma unroll
                for (int n = 0; n < units; ++n) {
                    const Operand<T> operand = operands[n][i];
                    if (later < order) operands[n][i] = l[n].load<true>(l_at, later);
#pragma unroll
                    for (int s = 0; s < strips; ++s) multiply_add(thread, minus[n][s], operand, u[s] + now * shared_ld);
                }
            }
        }
#pragma unroll
        for (int n = 0; n < units; ++n) {
            const Strip<T> c = strip_of(panel, rows, (first + n) * unit_rows, col, cols);
#pragma unroll
            for (int s = 0; s < strips; ++s) {
#pragma unroll
                for (int j = 0; j < tiles; ++j) {
                    const int at = s * strip_cols + j * tile_cols + 2 * t;
                    const auto [upper, lower] = minus[n][s].of[j];
                    store_c(c, g, at, Pair<T>{-upper.first, -upper.second});
                    store_c(c, g + unit_rows / 2, at, Pair<T>{-lower.first, -lower.second});
                }
            }
        }
    }
}

/// A(rows, right + done ..) -= L U for the columns of U that are in shared memory.
template <class T>
__device__ __forceinline__ void multiply(const PanelView<T> panel, BlockRows rows, int l_col, int order, int right,
                                         int width, const ProductShared<T>& shared, BlockThread thread) {
    int done = 0;
#pragma unroll 1
    for (; width - done > strip_cols; done += 2 * strip_cols) {
        subtract_product<1, 2, 4>(panel, rows, l_col, order, right + done, width - done,
                                  &shared.u[done / strip_cols], thread);
    }
    const int left = width - done;
    if (left > 2 * tile_cols) {
        subtract_product<2, 1, 4>(panel, rows, l_col, order, right + done, left, &shared.u[done / strip_cols], thread);
    } else if (left > tile_cols) {
        subtract_product<2, 1, 2>(panel, rows, l_col, order, right + done, left, &shared.u[done / strip_cols], thread);
    } else if (left > 0) {
        subtract_product<2, 1, 1>(panel, rows, l_col, order, right + done, left, &shared.u[done / strip_cols], thread);
    }
}

/// A(rows, right ..) -= L(rows, l_col ..) U(l_col .., right ..) with U of `order` rows and `cols` columns.
template <class T>
__device__ __forceinline__ void update_right(PanelView<T> panel, BlockRows rows, int l_col, int order, int right,
                                             int cols, ProductShared<T>& shared, BlockThread thread) {
#pragma unroll 1
    for (int c = 0; c < cols; c += product_cols) {
        const int width = min(product_cols, cols - c);
#pragma unroll 1
        for (int k = 0; k < order; k += product_depth) {
            const int count = min(product_depth, order - k);
            fetch_u(panel, l_col + k, count, right + c, width, shared, thread);
            multiply(panel, rows, l_col + k, count, right + c, width, shared, thread);
            __syncthreads();
        }
    }
}

}  // namespace basalt::cuda_detail
