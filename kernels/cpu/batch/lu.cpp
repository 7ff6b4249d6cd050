#include "kernels/cpu/batch/lu.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "kernels/cpu/batch/lane_blocks.hpp"
#include "kernels/cpu/batch/lapack.hpp"
#include "kernels/cpu/batch/lu_alone.hpp"
#include "kernels/cpu/blas/serial.hpp"
#include "kernels/cpu/simd/kernels.hpp"

namespace basalt::cpu_kernels {

namespace {

/// How rows are ordered.
enum class LuRows { pivoted, in_order };

/// Interleaved matrices of one shape in the memory of the thread: A and the right-hand sides behind it, B again for
/// solutions, and scratch.
template <class T>
class InterleavedLu {
  public:
    InterleavedLu(Index n, Index columns, LuRows rows)
        : n_(n),
          columns_(columns),
          rows_(rows),
          a_(lane_memory<T>((n * (n + 2 * columns) + k_.batch_scratch * n) * k_.lanes)),
          x_(a_ + n * (n + columns) * k_.lanes),
          scratch_(x_ + n * columns * k_.lanes),
          order_(lane_memory<Order>(3 * n * k_.lanes)) {}

    void load_a(const BatchView<const T>& a, const LaneBlock& block) {
        const auto from = matrices_of(a, block.matrix, k_.lanes);
        k_.interleave(n_, n_, simd::BatchPart::all, from.data.data(), from.ld, a_, n_);
    }
    void load_b(const BatchView<const T>& b, const LaneBlock& block) { load_columns(b, block, x_); }
    /// As further columns of A, for factor().
    void load_b_behind_a(const BatchView<const T>& b, const LaneBlock& block) {
        load_columns(b, block, a_ + n_ * n_ * k_.lanes);
    }
    /// What load_a() took; `a` is the batch, from which the next block is fetched.
    void factor(const BatchView<const T>& a, const LaneBlock& block, Index* info) {
        const NextMatrices<T> next(a, block, simd::BatchPart::all);
        if (rows_ == LuRows::pivoted) {
            k_.batch_lu(n_, columns_, a_, scratch_, order_, lane_info_.data(), next.ahead());
        } else {
            k_.batch_lu_unpivoted(n_, columns_, a_, scratch_, lane_info_.data(), next.ahead());
        }
        store_info(block, lane_info_, info);
    }
    /// Right-hand sides behind A, which factor() has treated, become solutions.
    void solve_behind() { k_.batch_lu_solve(n_, columns_, a_, rows_ == LuRows::pivoted ? order_ : nullptr, x_); }

    /// Solutions with rows in the order of the pivots, of factors that were loaded.
    void solve_loaded() {
        if (n_ == 0) return;
        const Index lanes = k_.lanes, column = n_ * lanes, last = n_ - 1;
        k_.batch_substitute(n_, columns_, a_, lanes, column, nullptr, 0, x_, lanes, column);
        k_.batch_reciprocals(n_, a_, lanes, column, scratch_);
        k_.batch_substitute(n_, columns_, a_ + last * (lanes + column), -lanes, -column, scratch_ + last * lanes,
                            -lanes, x_ + last * lanes, -lanes, column);
    }
    /// Exchanges rows of the solutions' places as the factorization exchanged those of A.
    void exchange_rows(const BatchView<const Index>& pivots, const LaneBlock& block) {
        for (Index l = 0; l < k_.lanes; ++l) {
            const View<const Index> own = pivots[block.matrix[static_cast<std::size_t>(l)]];
            for (Index k = 0; k < n_; ++k) {
                const Index other = own(k, 0) - 1;
                for (Index c = 0; other != k && c < columns_; ++c) std::swap(*x_at(k, c, l), *x_at(other, c, l));
            }
        }
    }
    void set_identity() {
        std::fill_n(x_, n_ * n_ * k_.lanes, T{});
        for (Index i = 0; i < n_; ++i) std::fill_n(x_at(i, i, 0), k_.lanes, T{1});
    }
    /// INFO of getri: the first zero on the diagonal of U.
    void find_singular(const LaneBlock& block, Index* info) {
        for (Index l = 0; l < block.used; ++l) {
            Index first = 0;
            for (Index i = n_ - 1; i >= 0; --i) first = a_[i * (n_ + 1) * k_.lanes + l] == T{} ? i + 1 : first;
            lane_info_[static_cast<std::size_t>(l)] = info[block.matrix[static_cast<std::size_t>(l)]] = first;
        }
    }

    void store_a(const BatchView<T>& a, const LaneBlock& block) {
        auto to = matrices_of(a, block.matrix, k_.lanes);
        leave_out_unused(to, block);
        k_.separate(n_, n_, simd::BatchPart::all, a_, n_, to.data.data(), to.ld);
        for (Index l = 0; rows_ == LuRows::pivoted && l < block.used; ++l) {
            const View<T> own = a[block.matrix[static_cast<std::size_t>(l)]];
            // the places of rows are not needed any more
            k_.batch_order_rows(n_, own.data(), own.col_stride(), order_ + n_ * k_.lanes + l, order_, scratch_);
        }
    }
    void store_pivots(const BatchView<Index>& pivots, const LaneBlock& block) {
        const Order* const own = order_ + 2 * n_ * k_.lanes;
        for (Index l = 0; l < block.used; ++l) {
            const View<Index> to = pivots[block.matrix[static_cast<std::size_t>(l)]];
            for (Index k = 0; k < n_; ++k) to(k, 0) = own[k * k_.lanes + l];
        }
    }
    /// Solutions, where INFO is 0.
    void store_x(const BatchView<T>& b, const LaneBlock& block) {
        auto to = matrices_of(b, block.matrix, k_.lanes);
        leave_out_unused(to, block);
        leave_out_failed(to, lane_info_);
        k_.separate(n_, columns_, simd::BatchPart::all, x_, n_, to.data.data(), to.ld);
    }

  private:
    using Order = typename simd::Kernels<T>::Order;

    void load_columns(const BatchView<const T>& b, const LaneBlock& block, T* to) {
        const auto from = matrices_of(b, block.matrix, k_.lanes);
        k_.interleave(n_, columns_, simd::BatchPart::all, from.data.data(), from.ld, to, n_);
    }
    T* x_at(Index i, Index c, Index l) const { return x_ + (c * n_ + i) * k_.lanes + l; }

    const simd::Kernels<T>& k_ = simd::kernels<T>();
    const Index n_, columns_;
    const LuRows rows_;
    T *const a_, *const x_, *const scratch_;
    Order* const order_;
    std::array<Index, 16> lane_info_{};
};

// Orders up to which interleaved matrices are faster than LAPACK one by one (decision 34): for inverses, and for
// factorizations and solutions by registers of less than 64 bytes; and for these by registers of 64 bytes.
constexpr Index most_interleaved_lu = 64;
constexpr Index most_interleaved_in_wide_registers = 160;

/// The order for factorizations and solutions.
template <class T>
Index largest_interleaved() {
    const bool wide = simd::kernels<T>().lanes * static_cast<Index>(sizeof(T)) == 64;
    return wide ? most_interleaved_in_wide_registers : most_interleaved_lu;
}

/// Fewer matrices of order n are faster one by one: the interleaved ones take as long as if all lanes were in use.
Index least_interleaved_lu(Index n, Index lanes) {
    // how many times as fast as one by one full lanes are, in eighths, a little less than measured
    const Index gain = n <= 32 ? 20 : n <= 64 ? 17 : n <= 96 ? 13 : 9;
    return std::max<Index>(2, (8 * lanes + gain - 1) / gain);
}

/// Whether simd::Kernels::small_lu takes matrices of order n. Up to half a register the interleaved kernel is as fast.
template <class T>
bool is_small(Index n) {
    const auto& k = simd::kernels<T>();
    return n > k.lanes / 2 && n <= k.small_order;
}

/// Blocks of matrices come together: those for which small(order) holds, however few there are, and those of order
/// `most` and less where there are enough.
template <class T, class A, class B, class Together, class Alone>
void for_each_lu_block(bool (*small)(Index), Index most, const BatchView<A>& a, const BatchView<B>* b,
                       const Together& together, const Alone& alone) {
    const Index lanes = simd::kernels<T>().lanes;
    const auto least = [&](Index k) {
        const Index n = a[k].rows();
        if (small(n)) return std::optional<Index>(1);
        return n > 0 && n <= most ? std::optional(least_interleaved_lu(n, lanes)) : std::nullopt;
    };
    visit_lane_blocks(a, b, lanes, least, together, alone);
}

/// small_lu for a block of a batch. Factors go to `lu` and `pivots`, unless they are null.
template <class T>
void factor_small(const BatchView<const T>& a, const BatchView<T>* lu, const BatchView<Index>* pivots,
                  const BatchView<T>* b, const LaneBlock& block, Index* info) {
    const Index lanes = simd::kernels<T>().lanes;
    const auto from = matrices_of(a, block.matrix, lanes);
    simd::SmallLuOperands<T> operands{};
    operands.n = order_of(a, block);
    operands.count = block.used;
    operands.a = from.data.data();
    operands.lda = from.ld;
    LaneMatrices<T> to, sides;
    LaneMatrices<Index> order;
    if (lu != nullptr) {
        to = matrices_of(*lu, block.matrix, lanes);
        operands.lu = to.data.data();
        operands.ldlu = to.ld;
    }
    if (pivots != nullptr) {
        order = matrices_of(*pivots, block.matrix, lanes);
        operands.pivots = order.data.data();
    }
    if (b != nullptr) {
        sides = matrices_of(*b, block.matrix, lanes);
        operands.cols = (*b)[block.matrix[0]].cols();
        operands.b = sides.data.data();
        operands.ldb = sides.ld;
    }
    std::array<const T*, 16> next{};
    for (std::size_t l = 0; l < static_cast<std::size_t>(block.next_used); ++l) next[l] = a[block.next[l]].data();
    operands.next = next.data();
    operands.next_count = block.next_used;
    std::array<Index, 16> lane_info;
    operands.info = lane_info.data();
    simd::kernels<T>().small_lu(operands);
    store_info(block, lane_info, info);
}

}  // namespace

template <class T>
void batch_lu_factor(const BatchView<T>& a, const BatchView<Index>& pivots, Index* info) {
    for_each_lu_block<T, T, T>(
        is_small<T>, largest_interleaved<T>(), a, nullptr,
        [&](const LaneBlock& block) {
            if (is_small<T>(order_of(a, block))) return factor_small<T>(a, &a, &pivots, nullptr, block, info);
            InterleavedLu<T> lanes(order_of(a, block), 0, LuRows::pivoted);
            lanes.load_a(a, block);
            lanes.factor(a, block, info);
            lanes.store_a(a, block);
            lanes.store_pivots(pivots, block);
        },
        [&](Index k) { info[k] = factor_lu_alone<T>(a[k], pivots[k]); });
}

template <class T>
void batch_lu_factor(const BatchView<T>& a, Index* info) {
    for_each_lu_block<T, T, T>(
        none_is_small, largest_interleaved<T>(), a, nullptr,
        [&](const LaneBlock& block) {
            InterleavedLu<T> lanes(order_of(a, block), 0, LuRows::in_order);
            lanes.load_a(a, block);
            lanes.factor(a, block, info);
            lanes.store_a(a, block);
        },
        [&](Index k) { info[k] = factor_unpivoted_alone<T>(a[k]); });
}

template <class T>
void batch_lu_solve(const BatchView<const T>& factors, const BatchView<const Index>* pivots, const BatchView<T>& b) {
    for_each_lu_block<T>(
        none_is_small, largest_interleaved<T>(), factors, &b,
        [&](const LaneBlock& block) {
            InterleavedLu<T> lanes(order_of(factors, block), b[block.matrix[0]].cols(), LuRows::in_order);
            lanes.load_a(factors, block);
            lanes.load_b(b, block);
            if (pivots != nullptr) lanes.exchange_rows(*pivots, block);
            lanes.solve_loaded();
            lanes.store_x(b, block);
        },
        [&](Index k) {
            if (pivots == nullptr) return solve_unpivoted_alone<T>(factors[k], b[k]);
            solve_lu_alone<T>(factors[k], (*pivots)[k], b[k]);
        });
}

template <class T>
void batch_lu_factor_solve(const BatchView<T>& a, const BatchView<Index>& pivots, const BatchView<T>& b, Index* info) {
    for_each_lu_block<T>(
        is_small<T>, largest_interleaved<T>(), a, &b,
        [&](const LaneBlock& block) {
            if (is_small<T>(order_of(a, block))) return factor_small<T>(a, &a, &pivots, &b, block, info);
            InterleavedLu<T> lanes(order_of(a, block), b[block.matrix[0]].cols(), LuRows::pivoted);
            lanes.load_a(a, block);
            lanes.load_b_behind_a(b, block);
            lanes.factor(a, block, info);
            lanes.store_a(a, block);
            lanes.store_pivots(pivots, block);
            lanes.solve_behind();
            lanes.store_x(b, block);
        },
        [&](Index k) {
            info[k] = factor_lu_alone<T>(a[k], pivots[k]);
            if (info[k] == 0) solve_lu_alone<T>(a[k], pivots[k], b[k]);
        });
}

template <class T>
void batch_lu_factor_solve(const BatchView<const T>& a, const BatchView<T>& b, Index* info) {
    for_each_lu_block<T>(
        is_small<T>, largest_interleaved<T>(), a, &b,
        [&](const LaneBlock& block) {
            if (is_small<T>(order_of(a, block))) return factor_small<T>(a, nullptr, nullptr, &b, block, info);
            InterleavedLu<T> lanes(order_of(a, block), b[block.matrix[0]].cols(), LuRows::pivoted);
            lanes.load_a(a, block);
            lanes.load_b_behind_a(b, block);
            lanes.factor(a, block, info);
            lanes.solve_behind();
            lanes.store_x(b, block);
        },
        [&](Index k) {
            const Index n = a[k].rows(), ld = std::max<Index>(1, n);
            const auto factors = View<T>::column_major(lane_memory<T>(n * n), n, n, ld);
            for (Index j = 0; j < n; ++j) std::copy_n(a[k].data() + j * a[k].col_stride(), n, factors.data() + j * ld);
            const auto pivots = View<Index>::column_major(lane_memory<Index>(n), n, 1, ld);
            info[k] = factor_lu_alone<T>(factors, pivots);
            if (info[k] == 0) solve_lu_alone<T>(factors, pivots, b[k]);
        });
}

template <class T>
void batch_lu_invert(const BatchView<T>& factors, const BatchView<const Index>& pivots, Index* info) {
    for_each_lu_block<T, T, T>(
        none_is_small, most_interleaved_lu, factors, nullptr,
        [&](const LaneBlock& block) {
            const Index n = order_of(factors, block);
            InterleavedLu<T> lanes(n, n, LuRows::in_order);
            lanes.load_a(factors, block);
            lanes.find_singular(block, info);
            lanes.set_identity();
            lanes.exchange_rows(pivots, block);
            lanes.solve_loaded();
            lanes.store_x(factors, block);
        },
        [&](Index k) { info[k] = invert_alone<T>(factors[k], pivots[k]); });
}

template void batch_lu_factor<float>(const BatchView<float>&, const BatchView<Index>&, Index*);
template void batch_lu_factor<double>(const BatchView<double>&, const BatchView<Index>&, Index*);
template void batch_lu_factor<float>(const BatchView<float>&, Index*);
template void batch_lu_factor<double>(const BatchView<double>&, Index*);
template void batch_lu_solve<float>(const BatchView<const float>&, const BatchView<const Index>*,
                                    const BatchView<float>&);
template void batch_lu_solve<double>(const BatchView<const double>&, const BatchView<const Index>*,
                                     const BatchView<double>&);
template void batch_lu_factor_solve<float>(const BatchView<float>&, const BatchView<Index>&, const BatchView<float>&,
                                           Index*);
template void batch_lu_factor_solve<double>(const BatchView<double>&, const BatchView<Index>&, const BatchView<double>&,
                                            Index*);
template void batch_lu_factor_solve<float>(const BatchView<const float>&, const BatchView<float>&, Index*);
template void batch_lu_factor_solve<double>(const BatchView<const double>&, const BatchView<double>&, Index*);
template void batch_lu_invert<float>(const BatchView<float>&, const BatchView<const Index>&, Index*);
template void batch_lu_invert<double>(const BatchView<double>&, const BatchView<const Index>&, Index*);

}  // namespace basalt::cpu_kernels
