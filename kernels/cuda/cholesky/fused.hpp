#pragma once

#include <algorithm>

#include "kernels/cuda/cholesky/rows.hpp"
#include "kernels/cuda/cholesky/schedule.hpp"
#include "kernels/cuda/cholesky/task.hpp"

/// A whole Cholesky panel by the blocks of one kernel, left-looking in squares of 64 x 64. The first block that comes
/// has the chain: it factors the squares on the diagonal one after the other, and keeps to itself what lies between
/// two of them, the rows just below and what these take from the next square. All others draw tickets for tasks: a
/// task's rows of a block column take what all block columns on the left give as soon as these are there, and are
/// solved for as soon as the square on the diagonal is factored.
///
/// A block waits only for the chain and for tasks with lower tickets. The chain does tasks itself as long as tasks that
/// it needs have not been drawn. So the kernel ends with any number of blocks, in any order of their starts, and with
/// any other kernels on the GPU.
///
/// How one block passes data to another: it writes, all its threads meet, and one of them raises a counter with release
/// at the GPU's scope. A thread that sees the counter with acquire may read the data by plain loads, since acquiring
/// invalidates the multiprocessor's first cache.
namespace basalt::cuda_detail::cholesky {

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
            SquarePart square = load_square(col + 1);  // loads while the rows left of it are solved for
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
