#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <basalt/triangle.hpp>

#include "kernels/cuda/common/device_code.hpp"
#include "kernels/triangle_columns.hpp"

/// One right-hand side of a whole triangle by the blocks of one kernel. The rows are dealt to thread blocks as the
/// triangle's diagonal is: each takes those of one diagonal block, in the order in which they are solved, by drawing a
/// ticket. It adds up what the rows solved before it give,
///
///     y_i = D_i^-1 (x_i - sum over solved blocks j of T_ij y_j),
///
/// reading T_ij before y_j is there. A block waits only for those with lower tickets, which have started: so the kernel
/// ends with any number of blocks at a time. Left-looking, since a block then writes nothing but its own rows: there
/// is no order of additions to keep, and equal input gives equal bits.
///
/// Blocks exchange the solution in words of 8 bytes: 4 bytes of it, and a tag that marks the word as written. Each word
/// is written by one access, read by one access and checked on its own, so relaxed accesses suffice. The chain of
/// blocks decides the time, so D_i^-1 waits in shared memory from the beginning.
///
/// Written without CUDA so that a test can run it on the host: `Thread` is a thread of the block.
namespace basalt::cuda_detail {

constexpr int whole_order = 128;  ///< of the blocks on the diagonal
constexpr int whole_warps = 16;
constexpr int whole_lanes = 32;
constexpr int whole_rows = whole_order / whole_warps;   ///< a warp's, of a block
constexpr int whole_parts = whole_order / whole_lanes;  ///< a lane's columns, 32 apart

/// Blocks on the diagonal of a triangle in tile columns of this width, which begin again in each.
BASALT_DEVICE constexpr int whole_blocks(Index order, Index width) {
    const Index columns = order / width, a_column = (width + whole_order - 1) / whole_order;
    return static_cast<int>(columns * a_column + (order - columns * width + whole_order - 1) / whole_order);
}

template <class T>
struct WholeMemory {
    alignas(16) T inverse[whole_order][whole_order];  ///< D_i^-1
    T solved[2][whole_order];          ///< of another block, in turn: others may still read the former one
    T vector[whole_order];             ///< x_i, then the brackets above
    T sums[whole_warps][whole_order];  ///< of transposed products: each warp's
    int ticket;
};

/// In the GPU's memory, for one right-hand side: how many tickets are drawn, then the words of the solution. All begin
/// at 0.
template <class T>
class WholeExchange {
  public:
    static constexpr int words_an_element = static_cast<int>(sizeof(T) / sizeof(std::uint32_t));

    BASALT_DEVICE static constexpr Index words(Index order) { return 1 + order * words_an_element; }

    BASALT_DEVICE explicit WholeExchange(std::uint64_t* words) : words_(words) {}

    template <class Thread>
    BASALT_DEVICE int draw(const Thread& thread) const {
        return static_cast<int>(thread.fetch_add(words_, std::uint64_t{1}));
    }

    template <class Thread>
    BASALT_DEVICE void put(const Thread& thread, Index i, T value) const {
        std::uint32_t parts[words_an_element];
        std::memcpy(parts, &value, sizeof(T));
        BASALT_UNROLL
        for (int w = 0; w < words_an_element; ++w) thread.store_relaxed(word(i, w), tag | parts[w]);
    }

    /// Whether the element is there.
    template <class Thread>
    BASALT_DEVICE bool get(const Thread& thread, Index i, T& value) const {
        std::uint32_t parts[words_an_element];
        bool complete = true;
        BASALT_UNROLL
        for (int w = 0; w < words_an_element; ++w) {
            const std::uint64_t read = thread.load_relaxed(word(i, w));
            complete = complete && (read & tag) != 0;
            parts[w] = static_cast<std::uint32_t>(read);
        }
        std::memcpy(&value, parts, sizeof(T));
        return complete;
    }

  private:
    static constexpr std::uint64_t tag = std::uint64_t{1} << 32;

    BASALT_DEVICE std::uint64_t* word(Index i, int w) const { return words_ + 1 + i * words_an_element + w; }

    std::uint64_t* words_;
};

template <MatrixOp op, class T, class Thread>
class WholeSubstitution {
  public:
    BASALT_DEVICE WholeSubstitution(const Thread& thread, WholeMemory<T>& memory, const TriangleColumns<T>& triangle,
                                    Triangle side, T* x, Index x_stride, std::uint64_t* exchange)
        : thread_(thread),
          memory_(memory),
          t_(triangle),
          x_(x),
          x_stride_(x_stride),
          exchange_(exchange),
          ascending_((side == Triangle::lower) != transposed),
          blocks_(whole_blocks(triangle.order, triangle.width)),
          blocks_a_column_(whole_blocks(triangle.width, triangle.width)) {}

    BASALT_DEVICE void run() {
        if (thread_.warp == 0 && thread_.lane == 0) memory_.ticket = exchange_.draw(thread_);
        thread_.sync();
        const int ticket = memory_.ticket;
        const Block own = block(ticket);
        copy_inverse(own);
        const int row = row_of_sum();
        if (row < own.order) memory_.vector[row] = x_[(own.first + row) * x_stride_];
        for (int step = 0; step < ticket; ++step) {
            const Block other = block(step);
            load(transposed ? other : own, transposed ? own : other);
            T* const solved = memory_.solved[step % 2];
            fetch(other, solved);
            thread_.sync();
            add_product(solved, other.order);
        }
        thread_.template wait_for_own_copies<0>();
        const T sum = add_up();
        if (row < own.order) memory_.vector[row] -= sum;
        thread_.sync();
        load_inverse(own);
        add_product(memory_.vector, own.order);
        const T solution = add_up();
        if (row >= own.order) return;
        exchange_.put(thread_, own.first + row, solution);
        x_[(own.first + row) * x_stride_] = solution;
    }

  private:
    static constexpr bool transposed = op == MatrixOp::transposed;
    static constexpr int factors_a_lane = transposed ? whole_rows : whole_parts;
    static constexpr int sums_a_lane = transposed ? whole_parts : whole_rows;  ///< of its columns, or its warp's rows

    /// On the diagonal: its first row and column, and where it begins in its tile column.
    struct Block {
        Index first;
        int order, column, col;
    };

    /// The block that is solved in step `step`.
    BASALT_DEVICE Block block(int step) const {
        const int number = ascending_ ? step : blocks_ - 1 - step;
        const int column = number / blocks_a_column_, col = number % blocks_a_column_ * whole_order;
        const Index first = column * t_.width + col;
        const Index left = std::min(t_.width - col, t_.order - first);
        return {first, left < whole_order ? static_cast<int>(left) : whole_order, column, col};
    }

    /// The elements in the rows of one diagonal block and the columns of another.
    BASALT_DEVICE void load(const Block& rows, const Block& cols) {
        load(t_.columns[cols.column] + rows.first * t_.ld + cols.col, t_.ld, rows.order, cols.order);
    }

    /// Starts to copy D_i^-1.
    BASALT_DEVICE void copy_inverse(const Block& own) const {
        constexpr int at_once = 16 / static_cast<int>(sizeof(T)), copies = whole_order / at_once;
        const T* const from = t_.inverses[own.column] + own.col * whole_order;
        for (int i = thread_.warp * whole_lanes + thread_.lane; i < own.order * copies;
             i += whole_warps * whole_lanes) {
            thread_.template copy<at_once>(memory_.inverse[0] + i * at_once, from + i * at_once);
        }
        thread_.commit_copies();
    }

    BASALT_DEVICE void load_inverse(const Block& own) { load(memory_.inverse[0], whole_order, own.order, own.order); }

    BASALT_DEVICE void load(const T* from, Index ld, int rows, int cols) {
        const int top = thread_.warp * whole_rows;
        const T* const mine = from + top * ld + thread_.lane;
        BASALT_UNROLL
        for (int q = 0; q < whole_rows; ++q) {
            BASALT_UNROLL
            for (int p = 0; p < whole_parts; ++p) {
                const bool inside = top + q < rows && p * whole_lanes + thread_.lane < cols;
                elements_[q][p] = inside ? mine[q * ld + p * whole_lanes] : T(0);
            }
        }
    }

    /// Waits for a block's part of the solution, each warp for some elements.
    BASALT_DEVICE void fetch(const Block& other, T* to) const {
        const int i = thread_.warp * whole_rows + thread_.lane;
        if (thread_.lane >= whole_rows || i >= other.order) return;
        T value;
        while (!exchange_.get(thread_, other.first + i, value)) thread_.pause();
        to[i] = value;
    }

    /// sums += the loaded elements, or their transpose, times the first n elements of y; the others are not read.
    BASALT_DEVICE void add_product(const T* y, int n) {
        T factors[factors_a_lane];
        BASALT_UNROLL
        for (int q = 0; q < factors_a_lane; ++q) {
            const int i = transposed ? thread_.warp * whole_rows + q : thread_.lane + q * whole_lanes;
            factors[q] = i < n ? y[i] : T(0);
        }
        BASALT_UNROLL
        for (int q = 0; q < whole_rows; ++q) {
            BASALT_UNROLL
            for (int p = 0; p < whole_parts; ++p) {
                if constexpr (transposed) {
                    sums_[p] += elements_[q][p] * factors[q];
                } else {
                    sums_[q] += elements_[q][p] * factors[p];
                }
            }
        }
    }

    /// Of the rows of a block: the thread's one behind add_up(), whole_order where it has none.
    BASALT_DEVICE int row_of_sum() const {
        const int number = thread_.warp * whole_lanes + thread_.lane;
        if (transposed) return number < whole_order ? number : whole_order;
        return number % 4 == 0 ? number / 4 : whole_order;
    }

    /// The sum for row_of_sum(), over all lanes or warps in a fixed order; clears the parts. All threads call it.
    BASALT_DEVICE T add_up() {
        T sum;
        if constexpr (transposed) {
            sum = add_up_warps();
        } else {
            sum = add_up_lanes();
        }
        BASALT_UNROLL
        for (int q = 0; q < sums_a_lane; ++q) sums_[q] = T(0);
        return sum;
    }

    /// Halves the rows that a lane has parts of, three times: lanes 4 r to 4 r + 3 are left with row r.
    BASALT_DEVICE T add_up_lanes() const {
        T parts[whole_rows];
        BASALT_UNROLL
        for (int q = 0; q < whole_rows; ++q) parts[q] = sums_[q];
        BASALT_UNROLL
        for (int count = whole_rows / 2; count > 0; count /= 2) {
            const int other = thread_.lane ^ (4 * count);
            const bool upper = other < thread_.lane;
            BASALT_UNROLL
            for (int q = 0; q < count; ++q) {
                const T given = upper ? parts[q] : parts[q + count], kept = upper ? parts[q + count] : parts[q];
                parts[q] = kept + thread_.from_lane(given, other);
            }
        }
        for (int half = 2; half > 0; half /= 2) parts[0] += thread_.from_lane(parts[0], thread_.lane ^ half);
        return parts[0];
    }

    BASALT_DEVICE T add_up_warps() const {
        BASALT_UNROLL
        for (int p = 0; p < whole_parts; ++p) {
            memory_.sums[thread_.warp][p * whole_lanes + thread_.lane] = sums_[p];
        }
        thread_.sync();
        const int row = row_of_sum();
        T sum = 0;
        for (int w = 0; w < whole_warps && row < whole_order; ++w) sum += memory_.sums[w][row];
        return sum;
    }

    const Thread& thread_;
    WholeMemory<T>& memory_;
    const TriangleColumns<T>& t_;
    T* const x_;
    const Index x_stride_;
    const WholeExchange<T> exchange_;
    const bool ascending_;
    const int blocks_, blocks_a_column_;
    T elements_[whole_rows][whole_parts];
    T sums_[sums_a_lane] = {};
};

}  // namespace basalt::cuda_detail
