#pragma once

#include <algorithm>

#include "kernels/cuda/cholesky/rows.hpp"
#include "kernels/cuda/cholesky/schedule.hpp"

/// A task of the kernel that factors a panel (cholesky_fused.hpp), and the memory that a block has for it.
namespace basalt::cuda_detail::cholesky {

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

/// A task: eight warps have 16 rows each, the others copy the operands to shared memory.
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

    /// Waits until the task's rows, and the rows that they are multiplied by, are L in `cols` block columns. Returns in
    /// how many they are.
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
            thread_.sync();  // all copies have arrived, and the operands of the previous stage can be overwritten
            if (!computes) fetch<copying_warps>(thread_.warp - computing_warps, begin, s + stages - 1, count);
            if (busy) multiply(own, memory_.stage[s % stages].rows);
        }
    }

    /// By `warps` warps, of which this is number `warp`.
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

    /// 64 rows of the panel from row `first` on. Rows from `end` on are copies of the last one, so that they are
    /// finite.
    template <int warps>
    BASALT_DEVICE void copy_rows(int thread, T* to, int first, int end, int col) {
        constexpr int chunk = wide ? 16 / static_cast<int>(sizeof(T)) : 1, chunks = stage_cols / chunk;
        constexpr int rows_at_once = warps * lanes / chunks;
        static_assert(side % rows_at_once == 0);
        const int row = thread / chunks, part = thread % chunks * chunk, last = end - 1 - first;
        const int ld = static_cast<int>(p_.ld);
        const T* const from = p_.a + first * p_.ld + col + part;
        to += row * stage_ld + part;
        BASALT_UNROLL
        for (int i = 0; i < side; i += rows_at_once) {
            thread_.template copy<chunk>(to + i * stage_ld, from + static_cast<Index>(std::min(row + i, last)) * ld);
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

}  // namespace basalt::cuda_detail::cholesky
