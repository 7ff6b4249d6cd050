#pragma once

#include <algorithm>

#include "kernels/cuda/cholesky_leaf.hpp"

/// A whole Cholesky panel by the blocks of one kernel, left-looking in squares of 64 x 64. The first block that comes
/// has the chain: it factors the squares on the diagonal one after the other, and keeps to itself what lies between
/// two of them, the rows just below and what these take from the next square. All others draw tickets for tasks: a
/// task's rows of a block column take what all block columns on the left give as soon as these are there, and are
/// solved for as soon as the square on the diagonal is factored.
///
/// Nobody waits for more than the chain and tasks with lower tickets, and the chain does tasks itself while those that
/// it is about to wait for have not been drawn. So the kernel ends with any number of blocks, in whatever order they
/// begin and whatever runs beside them.
///
/// What one block leaves for another: it writes, all its threads meet, and one of them raises a counter with release at
/// the GPU's scope; whoever sees that with acquire may read it by plain loads, since acquiring drops what the
/// multiprocessor's first cache holds.
namespace basalt::cuda_detail::cholesky {

/// Squares, and the tiles of those on the diagonal. No parameters: rows of a square are held in registers, 16 to a
/// warp, and the chain's leaf shares its multiprocessor with the operands of products.
using SquareShape = LeafShape<64, 32>;
constexpr int side = SquareShape::columns, tile = SquareShape::tile;
constexpr int side_tiles = side / 8;  // 16 x 8 tiles of a warp's 16 rows of a square
constexpr int most_task_squares = 2;  // one above the other
constexpr int task_rows = most_task_squares * side;

/// How a panel of rows x cols is cut: block columns begin at multiples of 64, block rows too as far as there are
/// columns; below, they are counted from row `cols` on, so that no block row has rows on the diagonal and rows below
/// it.
struct Squares {
    int rows, cols;

    constexpr int block_cols() const { return (cols + side - 1) / side; }
    constexpr int block_rows() const { return block_cols() + (rows - cols + side - 1) / side; }
    constexpr int first_col(int j) const { return std::min(j * side, cols); }
    constexpr int first_row(int i) const {
        return i < block_cols() ? i * side : std::min(cols + (i - block_cols()) * side, rows);
    }
};

/// Rows of `squares` block rows from `row` on, in block column `col`, take what the first `depth` block columns give.
/// Then they are solved for, or left to the chain.
struct Task {
    int row, squares, col, depth;
    bool solved;
};

/// The tasks of a panel in an order in which each needs earlier ones only. Those of block column j, whose depth is j:
///
///     (j + 1, j) and (j + 1, j + 1)    for the chain, unless they are there from the beginning
///     (j + 2, j)                       alone: the chain waits for it next
///     (j + 3 and j + 4, j) ..          in twos, which need a quarter less of what they read
class Schedule {
  public:
    explicit constexpr Schedule(Squares squares) : cols_(squares.block_cols()), rows_(squares.block_rows()) {}

    constexpr int for_chain(int col) const { return col > 0 && col + 1 < cols_ ? 2 : 0; }
    constexpr int tasks(int col) const {
        const int solved = rows_ - first_solved(col);
        return for_chain(col) + (solved > 0 ? 1 + solved / 2 : 0);
    }
    /// Number `n` of block column `col`.
    constexpr Task task(int col, int n) const {
        if (n < for_chain(col)) return {col + 1, 1, col + n, col, false};
        n -= for_chain(col);
        const int first = first_solved(col);
        if (n == 0) return {first, 1, col, col, true};
        const int row = first + 2 * n - 1;
        return {row, row + 1 < rows_ ? most_task_squares : 1, col, col, true};
    }
    constexpr int block_cols() const { return cols_; }
    /// Of all block columns.
    constexpr int tasks() const {
        int sum = 0;
        for (int col = 0; col < cols_; ++col) sum += tasks(col);
        return sum;
    }

  private:
    constexpr int first_solved(int col) const { return col + 1 < cols_ ? col + 2 : col + 1; }

    int cols_, rows_;
};

/// rows x cols, rows >= cols > 0; its lower triangle becomes L, what is right of the diagonal is neither read nor
/// written.
template <class T>
struct FusedPanel {
    T* a;  ///< row-major
    Index ld;
    Squares squares;
    T* inverses;       ///< of all tiles on the diagonal, as a leaf has them
    int* use_inverse;  ///< for each tile
    int* counters;     ///< counters_of() of them, zero

    static constexpr int counters_of(Squares s) { return 1 + s.block_rows() + s.block_cols(); }

    /// Tickets that were drawn; the first is the chain's.
    BASALT_DEVICE int* drawn() const { return counters; }
    /// Block columns in which the block row is L.
    BASALT_DEVICE int* finished(int row) const { return counters + 1 + row; }
    /// What the block column's tasks have left to the chain.
    BASALT_DEVICE int* left(int col) const { return counters + 1 + squares.block_rows() + col; }

    BASALT_DEVICE Leaf<T, tile> leaf(int col) const {
        const int first = squares.first_col(col), tiles = first / tile;
        return {a + first * ld + first, ld, squares.first_col(col + 1) - first, inverses + tiles * tile * tile,
                use_inverse + tiles};
    }
};

/// Columns of rows on their way through shared memory: those of a task, behind them the square's that they are
/// multiplied by.
template <class T, int columns>
struct Stage {
    static constexpr int cols = columns;
    static constexpr int ld = cols + 8;  // a warp's operands meet in no bank
    alignas(16) T rows[(task_rows + side) * ld];
};

/// With more columns a stage a block's warps wait for each other less often, and a copy has longer to arrive; but the
/// chain is the slower, the more shared memory there is.
constexpr int narrow_stage = 32, wide_stage = 64;

template <class T, int stage_cols>
struct FusedMemory {
    static constexpr int stages = 2;
    union {
        Stage<T, stage_cols> stage[stages];
        LeafMemory<T, SquareShape> leaf;
    };
    int ticket, ready, drawn;  ///< from one thread to all
};
constexpr int fused_warps = 12;  // registers are dealt by the four

/// A lane's part of 16 rows of a square, as mma.m16n8k8 has it: tiles of 8 columns from left to right. A tile can be
/// the left operand of a product as it is, since the lane's columns 2t and 2t + 1 of it are what operand() takes of
/// one.
struct RowsOfSquare {
    Part tiles[side_tiles];
};

BASALT_DEVICE Part difference(const Part& a, const Part& b) {
    return {{a.upper[0] - b.upper[0], a.upper[1] - b.upper[1]}, {a.lower[0] - b.lower[0], a.lower[1] - b.lower[1]}};
}
BASALT_DEVICE Part negative(const Part& p) { return {{-p.upper[0], -p.upper[1]}, {-p.lower[0], -p.lower[1]}}; }

/// sum += A B^T over 8 columns, A being a lane's part of a tile.
template <class T, class Thread>
BASALT_DEVICE void add_product(const Thread& thread, Part& sum, const Part& a, Pair<T> b) {
    thread.mma_16x8x8(sum.upper[0], sum.upper[1], sum.lower[0], sum.lower[1], a.upper[0], a.lower[0], a.upper[1],
                      a.lower[1], static_cast<double>(b.first), static_cast<double>(b.second));
}

/// The 16 x 8 tiles of a panel from row `row` and column `col` on, for elements of the lower triangle above row and
/// left of column `row_end` and `col_end`.
template <bool wide, class T>
struct PanelTiles {
    T* a;
    Index ld;
    int row, row_end, col, col_end;

    BASALT_DEVICE static PanelTiles of(const FusedPanel<T>& p, int row, int row_end, int block_col) {
        return {p.a, p.ld, row, row_end, p.squares.first_col(block_col), p.squares.first_col(block_col + 1)};
    }

    /// A lane's part of so many tiles, the first being number `first`.
    template <int count>
    BASALT_DEVICE void load(int lane, int first, Part* parts) const {
        if (has_all(first, count)) {
            load_below<count>(lane, first, parts);
        } else {
            const int i = row + lane / 4, j = col + first * 8 + 2 * (lane % 4);
            BASALT_UNROLL
            for (int n = 0; n < count; ++n) {
                parts[n] = {};
                load(i, j + n * 8, parts[n].upper);
                load(i + 8, j + n * 8, parts[n].lower);
            }
        }
    }
    /// Where all columns are there and left of the diagonal; what is missing below the last row is that row again.
    template <int count>
    BASALT_DEVICE void load_below(int lane, int first, Part* parts) const {
        const int i = row + lane / 4;
        const T* const left = a + col + first * 8 + 2 * (lane % 4);
        const T* const upper = left + std::min(i, row_end - 1) * ld;
        const T* const lower = left + std::min(i + 8, row_end - 1) * ld;
        Pair<T> pairs[count][2];
        BASALT_UNROLL
        for (int n = 0; n < count; ++n) {  // no branch between them, so that all are on their way at once
            pairs[n][0] = load_pair<wide>(upper + n * 8);
            pairs[n][1] = load_pair<wide>(lower + n * 8);
        }
        BASALT_UNROLL
        for (int n = 0; n < count; ++n) {
            parts[n] = {{static_cast<double>(pairs[n][0].first), static_cast<double>(pairs[n][0].second)},
                        {static_cast<double>(pairs[n][1].first), static_cast<double>(pairs[n][1].second)}};
        }
    }
    BASALT_DEVICE void store(int lane, int n, const Part& part) const {
        store(row + lane / 4, col + n * 8 + 2 * (lane % 4), part.upper);
        store(row + lane / 4 + 8, col + n * 8 + 2 * (lane % 4), part.lower);
    }

  private:
    BASALT_DEVICE bool has(int i, int j) const { return i < row_end && j < col_end && j <= i; }
    BASALT_DEVICE bool has_all(int first, int count) const {
        return row + 15 < row_end && has(row, col + (first + count) * 8 - 1);
    }
    BASALT_DEVICE void load(int i, int j, double (&values)[2]) const {
        const T* const at = a + i * ld + j;
        if (has(i, j + 1)) {
            const Pair<T> pair = load_pair<wide>(at);
            values[0] = static_cast<double>(pair.first), values[1] = static_cast<double>(pair.second);
        } else if (has(i, j)) {
            values[0] = static_cast<double>(*at);
        }
    }
    BASALT_DEVICE void store(int i, int j, const double (&values)[2]) const {
        T* const at = a + i * ld + j;
        if (has(i, j + 1)) {
            store_pair<wide>(at, Pair<T>{static_cast<T>(values[0]), static_cast<T>(values[1])});
        } else if (has(i, j)) {
            *at = static_cast<T>(values[0]);
        }
    }
};

/// x := x L^-T by substitution for 16 rows and the tile L at `l`, `order` of whose columns are there. Rare, and so a
/// call: what is around it keeps its registers.
template <class T, class Thread>
BASALT_DEVICE_CALL void substitute(Thread thread, Part* x, const T* l, Index ld, int order) {
    const int own = thread.lane % 4;
    BASALT_UNROLL
    for (int n = 0; n < tile / 8; ++n) {
        BASALT_ROLLED
        for (int t = 0; t < 4; ++t) {
            BASALT_UNROLL
            for (int e = 0; e < 2; ++e) {
                const int k = 8 * n + 2 * t + e;
                if (k >= order) return;
                const double pivot = static_cast<double>(l[k * ld + k]);
                const double upper = thread.from_lane(x[n].upper[e], thread.lane - own + t) / pivot;
                const double lower = thread.from_lane(x[n].lower[e], thread.lane - own + t) / pivot;
                if (own == t) x[n].upper[e] = upper, x[n].lower[e] = lower;
                BASALT_UNROLL
                for (int m = n; m < tile / 8; ++m) {
                    BASALT_UNROLL
                    for (int f = 0; f < 2; ++f) {
                        const int col = 8 * m + 2 * own + f;
                        if (col <= k || col >= order) continue;
                        const double multiplier = static_cast<double>(l[col * ld + k]);
                        x[m].upper[f] -= upper * multiplier;
                        x[m].lower[f] -= lower * multiplier;
                    }
                }
            }
        }
    }
}

/// Where a warp that solves has a leaf from: the device's memory.
template <bool wide, class T>
struct StoredLeaf {
    Leaf<T, tile> l;

    /// A lane's operands of L's rows from `row` on, and of its tiles' inverses in the leaf's rows.
    BASALT_DEVICE Pair<T> factor(int lane, int row, int col) const {
        return operand<wide>(lane, l.a + std::min(row + lane / 4, l.order - 1) * l.ld, col);
    }
    BASALT_DEVICE Pair<T> inverse(int lane, int row, int col) const {
        return operand<true>(lane, l.inverses + (row + lane / 4) * tile, col);
    }
};

/// The same in the shared memory where it was factored, and an inverse's columns are rows behind it.
template <class T>
struct SharedLeaf {
    Leaf<T, tile> l;
    const T* identity;

    BASALT_DEVICE Pair<T> factor(int lane, int row, int col) const {
        return operand<true>(lane, l.a + (row + lane / 4) * l.ld, col);
    }
    BASALT_DEVICE Pair<T> inverse(int lane, int row, int col) const {
        const int own = row + lane / 4, first = col + 2 * (lane % 4), last = own % tile;
        const T* const at = identity + first * l.ld + own;
        return {first <= last ? at[0] : T{0}, first < last ? at[l.ld] : T{0}};
    }
};

/// Which of a leaf's tiles are solved for by their inverses.
struct ByInverse {
    int first, second;

    template <class T>
    BASALT_DEVICE static ByInverse of(const Leaf<T, tile>& l) {
        return {l.use_inverse[0], l.use_inverse[l.order > tile ? 1 : 0]};
    }
};

/// rows := rows L^-T for a warp's 16 rows: P_t = (A_t - P_0 L_t0^T) L_tt^-T, tile by tile of the leaf.
template <class T, class Thread, class From>
BASALT_DEVICE void solve_in_registers(const Thread& thread, RowsOfSquare& rows, const From& leaf,
                                      const Leaf<T, tile>& l, ByInverse by_inverse) {
    constexpr int steps = tile / 8;
    BASALT_UNROLL
    for (int top = 0; top < side; top += tile) {
        if (top >= l.order) return;
        Part* const own = rows.tiles + top / 8;
        BASALT_UNROLL
        for (int s = 0; s < top / 8; ++s) {
            const Part factor = negative(rows.tiles[s]);
            BASALT_UNROLL
            for (int n = 0; n < steps; ++n) {
                add_product(thread, own[n], factor, leaf.factor(thread.lane, top + n * 8, s * 8));
            }
        }
        if ((top == 0 ? by_inverse.first : by_inverse.second) != 0) {
            // a column of tiles gets those on its left, which still are right-hand sides if it is the last one first
            BASALT_UNROLL
            for (int n = steps - 1; n >= 0; --n) {
                Part solved{};
                BASALT_UNROLL
                for (int s = 0; s <= n; ++s) {
                    add_product(thread, solved, own[s], leaf.inverse(thread.lane, top + n * 8, s * 8));
                }
                own[n] = solved;
            }
        } else {
            Part in_memory[steps];
            BASALT_UNROLL
            for (int n = 0; n < steps; ++n) in_memory[n] = own[n];
            substitute(thread, in_memory, l.a + top * l.ld + top, l.ld, l.order - top);
            BASALT_UNROLL
            for (int n = 0; n < steps; ++n) own[n] = in_memory[n];
        }
    }
}

/// Waits until a counter is so high; by all threads that are to read what that stands for. Returns how high it is.
template <class Thread>
BASALT_DEVICE int wait_for(const Thread& thread, const int* counter, int value) {
    int seen = thread.load_acquire(counter);
    while (seen < value) {
        thread.pause();
        seen = thread.load_acquire(counter);
    }
    return seen;
}

/// The thread that raises counters, of a warp that has nothing to compute meanwhile and so can wait for the block's
/// stores.
template <class T, class Thread>
BASALT_DEVICE bool publishes(const Thread& thread) {
    return thread.warp == LeafMemory<T, SquareShape>::storing_warp && thread.lane == 0;
}

/// A task: eight warps have 16 rows each, the others copy what they multiply to shared memory.
template <bool wide, class T, int stage_cols, class Thread>
class TaskBlock {
  public:
    using Memory = FusedMemory<T, stage_cols>;

    BASALT_DEVICE TaskBlock(const Thread& thread, Memory& memory, const FusedPanel<T>& panel, const Task& task)
        : thread_(thread),
          memory_(memory),
          p_(panel),
          t_(task),
          first_(panel.squares.first_row(task.row)),
          end_(panel.squares.first_row(task.row + task.squares)) {}

    BASALT_DEVICE void run() {
        const int own_first = first_ + thread_.warp * 16;
        const bool busy = own_first < end_ && thread_.warp < computing_warps;
        const auto tiles = PanelTiles<wide, T>::of(p_, own_first, end_, t_.col);
        RowsOfSquare own{};
        // Most products are summed up before the task's elements, which may be much larger, come in; these are on
        // their way while the last block column, which the task may have to wait for, is not there yet.
        const int last = std::max(t_.depth - 1, 0);
        for (int done = 0; done < last;) {
            const int ready = std::min(wait_for_rows(done + 1), last);
            add_products(own, busy, done * side, ready * side);
            done = ready;
        }
        constexpr int at_once = side_tiles / 2;  // as registers allow
        BASALT_UNROLL
        for (int first = 0; first < side_tiles; first += at_once) {
            if (!busy) continue;
            Part elements[at_once];
            tiles.template load<at_once>(thread_.lane, first, elements);
            BASALT_UNROLL
            for (int n = 0; n < at_once; ++n) own.tiles[first + n] = difference(own.tiles[first + n], elements[n]);
        }
        if (t_.depth > 0) {
            wait_for_rows(t_.depth);
            add_products(own, busy, last * side, t_.depth * side);
        }
        BASALT_UNROLL
        for (int n = 0; n < side_tiles; ++n) own.tiles[n] = negative(own.tiles[n]);
        if (t_.solved) {
            wait_for(thread_, p_.finished(t_.col), t_.col + 1);
            const StoredLeaf<wide, T> leaf{p_.leaf(t_.col)};
            if (busy) solve_in_registers(thread_, own, leaf, leaf.l, ByInverse::of(leaf.l));
        }
        BASALT_UNROLL
        for (int n = 0; n < side_tiles; ++n) {
            if (busy) tiles.store(thread_.lane, n, own.tiles[n]);
        }
        thread_.sync();
        if (!publishes<T>(thread_)) return;
        if (t_.solved) {
            for (int i = 0; i < t_.squares; ++i) thread_.store_release(p_.finished(t_.row + i), t_.col + 1);
        } else {
            thread_.add_release(p_.left(t_.depth), 1);
        }
    }

  private:
    static constexpr int computing_warps = task_rows / 16, copying_warps = fused_warps - computing_warps;
    static constexpr int stages = Memory::stages, stage_ld = Stage<T, stage_cols>::ld;

    /// Until the task's rows, and those that they are multiplied by, are L in so many block columns. Returns in how
    /// many they are.
    BASALT_DEVICE int wait_for_rows(int cols) {
        if (thread_.warp == 0) {
            const int row = thread_.lane == 0 ? t_.row : thread_.lane == 1 ? t_.row + t_.squares - 1 : t_.col;
            int ready = wait_for(thread_, p_.finished(row), cols);
            for (int i = 0; i < 2; ++i) ready = std::min(ready, thread_.from_lane(ready, i));
            if (thread_.lane == 2) memory_.ready = ready;
        }
        thread_.sync();
        return memory_.ready;
    }

    /// own += A B^T over columns [begin, end) of the panel, A being the task's rows and B the rows of its block
    /// column's square.
    BASALT_DEVICE void add_products(RowsOfSquare& own, bool busy, int begin, int end) {
        const int count = (end - begin) / stage_cols;
        const bool computes = thread_.warp < computing_warps;
        for (int s = 0; s < stages - 1; ++s) {
            if (computes) fetch<computing_warps>(thread_.warp, begin, s, count);
        }
        BASALT_ROLLED
        for (int s = 0; s < count; ++s) {
            thread_.template wait_for_own_copies<stages - 2>();
            thread_.sync();  // everyone's copies are there, and what was multiplied before can be overwritten
            if (!computes) fetch<copying_warps>(thread_.warp - computing_warps, begin, s + stages - 1, count);
            if (busy) multiply(own, memory_.stage[s % stages].rows);
        }
    }

    /// By so many warps, of which this is number `warp`.
    template <int warps>
    BASALT_DEVICE void fetch(int warp, int begin, int s, int count) {
        if (s < count) {
            T* const to = memory_.stage[s % stages].rows;
            const int col = begin + s * stage_cols, thread = warp * lanes + thread_.lane;
            for (int i = 0; i < t_.squares; ++i) {
                copy_rows<warps>(thread, to + i * side * stage_ld, first_ + i * side, end_, col);
            }
            copy_rows<warps>(thread, to + task_rows * stage_ld, p_.squares.first_row(t_.col),
                             p_.squares.first_row(t_.col + 1), col);
        }
        thread_.commit_copies();
    }

    /// 64 rows of the panel from row `first` on; what is missing before row `end` is the last one again, so that it is
    /// finite.
    template <int warps>
    BASALT_DEVICE void copy_rows(int thread, T* to, int first, int end, int col) {
        constexpr int piece = wide ? 16 / static_cast<int>(sizeof(T)) : 1, pieces = stage_cols / piece;
        constexpr int rows_at_once = warps * lanes / pieces;
        static_assert(side % rows_at_once == 0);
        const int row = thread / pieces, part = thread % pieces * piece, last = end - 1 - first;
        const int ld = static_cast<int>(p_.ld);
        const T* const from = p_.a + first * p_.ld + col + part;
        to += row * stage_ld + part;
        BASALT_UNROLL
        for (int i = 0; i < side; i += rows_at_once) {
            thread_.template copy<piece>(to + i * stage_ld, from + static_cast<Index>(std::min(row + i, last)) * ld);
        }
    }

    BASALT_DEVICE void multiply(RowsOfSquare& own, const T* stage) const {
        const T* const a = stage + (thread_.warp * 16 + thread_.lane / 4) * stage_ld;
        const T* const b = stage + (task_rows + thread_.lane / 4) * stage_ld;
        BASALT_UNROLL
        for (int col = 0; col < stage_cols; col += 8) {
            BASALT_UNROLL
            for (int n = 0; n < side_tiles; ++n) {
                add_step(thread_, own.tiles[n], a, a + 8 * stage_ld, col,
                         operand<true>(thread_.lane, b + n * 8 * stage_ld, col));
            }
        }
    }

    const Thread& thread_;
    Memory& memory_;
    const FusedPanel<T> p_;
    const Task t_;
    const int first_, end_;
};

template <bool wide, class T, int stage_cols, class Thread>
BASALT_DEVICE_CALL void do_task(Thread thread, FusedMemory<T, stage_cols>& memory, FusedPanel<T> panel, Task task) {
    TaskBlock<wide, T, stage_cols, Thread>(thread, memory, panel, task).run();
}

/// A leaf of the chain, in shared memory; a call, so that what the chain keeps meanwhile takes no registers of it.
template <class T, class Thread>
BASALT_DEVICE_CALL int factor_square(Thread thread, LeafMemory<T, SquareShape>& memory, Leaf<T, tile> leaf) {
    return factor_leaf(thread, memory, leaf);
}

/// Between two squares of the chain: the rows of the next one are solved for with the leaf in shared memory, and take
/// its place there as well as theirs in the panel.
template <bool wide, class T, class Thread>
BASALT_DEVICE_CALL void solve_next_rows(Thread thread, LeafMemory<T, SquareShape>& memory, FusedPanel<T> panel,
                                        int col) {
    using Memory = LeafMemory<T, SquareShape>;
    const int first = panel.squares.first_row(col + 1) + thread.warp * 16, end = panel.squares.first_row(col + 2);
    const auto tiles = PanelTiles<wide, T>::of(panel, first, end, col);
    const bool solves = thread.warp < side / 16;
    RowsOfSquare own;
    if (solves) {
        SharedLeaf<T> leaf{panel.leaf(col), memory.a + Memory::identity_row * Memory::ld};
        const ByInverse by_inverse = ByInverse::of(leaf.l);
        leaf.l.a = memory.a;
        leaf.l.ld = Memory::ld;
        tiles.template load_below<side_tiles>(thread.lane, 0, own.tiles);
        solve_in_registers(thread, own, leaf, leaf.l, by_inverse);
    }
    thread.sync();  // all are done with the leaf
    if (solves) {
        T* const to = memory.a + (thread.warp * 16 + thread.lane / 4) * Memory::ld + 2 * (thread.lane % 4);
        BASALT_UNROLL
        for (int n = 0; n < side_tiles; ++n) {
            const Part& part = own.tiles[n];
            store_pair<true>(to + n * 8, {static_cast<T>(part.upper[0]), static_cast<T>(part.upper[1])});
            store_pair<true>(to + n * 8 + 8 * Memory::ld,
                             {static_cast<T>(part.lower[0]), static_cast<T>(part.lower[1])});
            tiles.store(thread.lane, n, part);
        }
    }
    thread.sync();
}

/// What the threads of a block do for a panel. All of them construct and call it.
template <bool wide, class T, int stage_cols, class Thread>
class FusedBlock {
  public:
    BASALT_DEVICE FusedBlock(const Thread& thread, FusedMemory<T, stage_cols>& memory, const FusedPanel<T>& panel)
        : thread_(thread), memory_(memory), p_(panel), schedule_(panel.squares) {}

    BASALT_DEVICE void run(Index* info) {
        int ticket = draw();
        if (ticket == 0) {
            factor_diagonal(info);
            ticket = draw();
        }
        for (; to_task(ticket); ticket = draw()) do_task<wide>(thread_, memory_, p_, task_);
    }

  private:
    using Memory = LeafMemory<T, SquareShape>;

    BASALT_DEVICE bool is_first() const { return thread_.warp == 0 && thread_.lane == 0; }

    BASALT_DEVICE int draw() {
        if (is_first()) memory_.ticket = thread_.fetch_add(p_.drawn(), 1);
        thread_.sync();
        return memory_.ticket;
    }
    /// Draws one of the first `count` tickets; `count` where there are none left.
    BASALT_DEVICE int draw_below(int count) {
        if (is_first()) {
            int drawn = thread_.load_acquire(p_.drawn());
            while (drawn < count && !thread_.compare_exchange(p_.drawn(), drawn, drawn + 1)) {
            }
            memory_.ticket = std::min(drawn, count);
        }
        thread_.sync();
        return memory_.ticket;
    }

    /// task_ becomes the ticket's; false where there are no more. Tickets of one block rise.
    BASALT_DEVICE bool to_task(int ticket) {
        const int number = ticket - 1;
        while (col_ < schedule_.block_cols() && number >= col_begin_ + schedule_.tasks(col_)) {
            col_begin_ += schedule_.tasks(col_++);
        }
        if (col_ == schedule_.block_cols()) return false;
        task_ = schedule_.task(col_, number - col_begin_);
        return true;
    }

    // --- the chain ---

    BASALT_DEVICE void factor_diagonal(Index* info) {
        int first_failed = 0;
        put_square(0, load_square(0));
        for (int col = 0;; ++col) {
            const int failed = factor_square(thread_, memory_.leaf, p_.leaf(col));
            if (failed > 0 && first_failed == 0) first_failed = p_.squares.first_col(col) + failed;
            thread_.sync();
            if (publishes<T>(thread_)) thread_.store_release(p_.finished(col), col + 1);
            if (col + 1 == schedule_.block_cols()) break;
            wait_for(thread_, p_.left(col), schedule_.for_chain(col));
            SquarePart square = load_square(col + 1);  // on its way while the rows beside it are solved for
            if (thread_.warp == fused_warps - 1 && thread_.lane == 0) memory_.drawn = thread_.load_acquire(p_.drawn());
            solve_next_rows<wide>(thread_, memory_.leaf, p_, col);
            if (publishes<T>(thread_)) thread_.store_release(p_.finished(col + 1), col + 1);
            const SquarePart product = product_of_rows();
            BASALT_UNROLL
            for (int n = 0; n < 2; ++n) square.tiles[n] = difference(square.tiles[n], product.tiles[n]);
            thread_.sync();  // all are done with the rows
            help(col + 1);
            put_square(col + 1, square);
        }
        if (thread_.warp == Memory::reporting_warp && thread_.lane == 0) *info = first_failed;
    }

    /// Does what tasks are left of those that the chain needs to go on behind a block column; no later ones, which may
    /// need the chain.
    BASALT_DEVICE void help(int col) {
        tickets_before_ += schedule_.tasks(col - 1);
        const int needed = tickets_before_ + schedule_.for_chain(col);
        if (memory_.drawn >= needed) return;
        for (int ticket = draw_below(needed); ticket < needed; ticket = draw_below(needed)) {
            to_task(ticket);
            do_task<wide>(thread_, memory_, p_, task_);
        }
    }

    /// What a warp has of a square on the diagonal: 16 x 16 of the lower triangle. The publishing warp has none.
    struct SquarePart {
        static constexpr int strips = side / 16, parts = strips * (strips + 1) / 2;
        static_assert(parts < fused_warps);
        Part tiles[2];
    };

    /// take(first row, first column) of the warp's part, if it has one.
    template <class Take>
    BASALT_DEVICE void with_part(const Take& take) const {
        const int part = thread_.warp < Memory::storing_warp ? thread_.warp : thread_.warp - 1;
        if (thread_.warp == Memory::storing_warp || part >= SquarePart::parts) return;
        int strip = 0;
        while ((strip + 1) * (strip + 2) / 2 <= part) ++strip;
        take(strip * 16, (part - strip * (strip + 1) / 2) * 16);
    }

    BASALT_DEVICE SquarePart load_square(int col) const {
        const Leaf<T, tile> l = p_.leaf(col);
        SquarePart square{};
        with_part([&](int row, int left) {
            const PanelTiles<wide, T> tiles{l.a, l.ld, row, l.order, left, l.order};
            tiles.template load<2>(thread_.lane, 0, square.tiles);
        });
        return square;
    }

    /// Of the rows in shared memory by themselves.
    BASALT_DEVICE SquarePart product_of_rows() const {
        SquarePart square{};
        with_part([&](int row, int left) {
            const T* const a = memory_.leaf.a + (row + thread_.lane / 4) * Memory::ld;
            const T* const b = memory_.leaf.a + (left + thread_.lane / 4) * Memory::ld;
            BASALT_UNROLL
            for (int k = 0; k < side; k += 8) {
                BASALT_UNROLL
                for (int n = 0; n < 2; ++n) {
                    add_step(thread_, square.tiles[n], a, a + 8 * Memory::ld, k,
                             operand<true>(thread_.lane, b + n * 8 * Memory::ld, k));
                }
            }
        });
        return square;
    }

    /// To shared memory, as a leaf has it.
    BASALT_DEVICE void put_square(int col, const SquarePart& square) {
        const int order = p_.leaf(col).order;
        with_part([&](int row, int left) {
            BASALT_UNROLL
            for (int n = 0; n < 2; ++n) {
                const int i = row + thread_.lane / 4, j = left + n * 8 + 2 * (thread_.lane % 4);
                put(order, i, j, square.tiles[n].upper);
                put(order, i + 8, j, square.tiles[n].lower);
            }
        });
        for (int i = thread_.warp; i < tile; i += thread_.warps) {
            memory_.leaf.a[(Memory::identity_row + i) * Memory::ld + thread_.lane] = i == thread_.lane ? T{1} : T{0};
        }
        thread_.sync();
    }

    /// A pair of the square; the identity beyond its order.
    BASALT_DEVICE void put(int order, int i, int j, const double (&values)[2]) {
        Pair<T> pair{static_cast<T>(values[0]), static_cast<T>(values[1])};
        if (i >= order) pair = {i == j ? T{1} : T{0}, i == j + 1 ? T{1} : T{0}};
        store_pair<true>(memory_.leaf.a + i * Memory::ld + j, pair);
        if (i < group && j < group) store_pair<true>(memory_.leaf.square + i * group + j, pair);
    }

    const Thread& thread_;
    FusedMemory<T, stage_cols>& memory_;
    const FusedPanel<T> p_;
    const Schedule schedule_;
    Task task_{};
    int col_ = 0, col_begin_ = 0;  // block column of task_, and the number of its first task
    int tickets_before_ = 1;       // the chain's and those of the block columns on its left
};

}  // namespace basalt::cuda_detail::cholesky
