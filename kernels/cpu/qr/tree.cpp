#include "kernels/cpu/qr/tree.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/cpu/blas/blas.hpp"
#include "kernels/cpu/blas/serial.hpp"
#include "kernels/reflector.hpp"
#include "kernels/triangle.hpp"
#include "tiles/copy.hpp"

namespace basalt {

namespace {

// Elements of a stretch of rows: half of a second cache.
constexpr Index stretch_elements = Index{1} << 17;
// Triangles that are factored together.
constexpr Index fan_in = 8;
// Rows of a member, for each of the panel's columns.
constexpr Index least_aspect = 32;
// Rows that are multiplied at a time.
constexpr Index product_rows = 256;

/// A column-major matrix of its own.
template <class T>
struct Own {
    Own(Index rows, Index cols)
        : memory(static_cast<std::size_t>(rows * cols)),
          view(View<T>::column_major(memory.data(), rows, cols, std::max<Index>(1, rows))) {}
    Own(Own&&) noexcept = default;  // the elements stay where they are
    Own& operator=(Own&&) noexcept = default;
    std::vector<T> memory;
    View<T> view;
};

/// Some rows, factored: V in place and T, and what the way down needs of Q: C = (B, 0)^T - V W.
template <class T>
struct RowBlock {
    RowBlock(View<T> rows)
        : v(rows),
          t(rows.cols(), rows.cols()),
          r(rows.cols(), rows.cols()),
          b(rows.cols(), rows.cols()),
          w(rows.cols(), rows.cols()) {}
    View<T> v;
    Own<T> t, r, b, w;
};

template <class T>
class TreeMember {
  public:
    TreeMember(const Team& team, View<T> v, View<T> r, View<T> t, QrPanelWorkspace<T>& shared)
        : team_(team),
          v_(v),
          r_(r),
          t_(t),
          k_(v.cols()),
          shared_(shared),
          alone_(1),
          member_(0, alone_),
          own_workspace_(1, v.cols()) {}

    /// Whether all elements are numbers of a safe scale; the same answer for all members.
    bool numbers_are_safe() {
        const QrPanelRows own(team_, v_.rows(), k_);
        T* const largest = shared_.sums(team_.rank(), 0);
        for (Index j = 0; j < k_; ++j) {
            T most = 0;
            bool number = true;
            for (Index i = own.begin; i < own.end; ++i) {
                most = std::max(most, std::abs(v_(i, j)));
                number = number && v_(i, j) == v_(i, j);
            }
            largest[j] = number ? most : std::numeric_limits<T>::infinity();
        }
        team_.barrier();
        bool safe = true;
        for (Index j = 0; j < k_; ++j) {
            T most = 0;
            for (int rank = 0; rank < team_.size(); ++rank) most = std::max(most, shared_.sums(rank, 0)[j]);
            safe = safe && most <= std::numeric_limits<T>::max() && scaling_exponent(most) == 0;
        }
        return safe;
    }

    void factor() {
        reduce_own_rows();
        copy_elements<T>(levels_.back().front().r.view, triangle_of(team_.rank()));
        team_.barrier();
        if (team_.rank() == 0) reduce_members();
        team_.barrier();
        expand(triangle_of(team_.rank()));
        if (team_.rank() == 0) reconstruct();
        team_.barrier();
        for (RowBlock<T>& block : levels_.front()) make_reflectors(block);
        if (team_.rank() == 0) copy_elements<T>(top_->view, v_.block(0, 0, k_, k_));
        team_.barrier();
    }

  private:
    /// A member's R on the way up, its part of Q's columns on the way down.
    View<T> triangle_of(int rank) const { return View<T>::column_major(shared_.products(rank), k_, k_, k_); }
    View<T> u() const { return View<T>::column_major(shared_.total(), k_, k_, k_); }

    void factor_block(RowBlock<T>& block) {
        qr_panel_factor<T>(member_, block.v, block.r.view, block.t.view, own_workspace_);
    }

    // --- up ---

    void reduce_own_rows() {
        const QrPanelRows own(team_, v_.rows(), k_);
        const Index rows = own.end - own.begin, most = std::max(4 * k_, stretch_elements / k_);
        const Index count = std::max<Index>(1, rows / most);
        levels_.emplace_back();
        for (Index c = 0; c < count; ++c) {
            const Index begin = own.begin + rows * c / count, end = own.begin + rows * (c + 1) / count;
            levels_.back().emplace_back(v_.block(begin, 0, end - begin, k_));
            factor_block(levels_.back().back());
        }
        while (levels_.back().size() > 1) reduce_level();
    }

    /// Triangles one below the other, fan_in of them a block.
    void reduce_level() {
        const std::vector<RowBlock<T>>& below = levels_.back();
        std::vector<RowBlock<T>> level;
        for (std::size_t first = 0; first < below.size(); first += fan_in) {
            const std::size_t last = std::min(first + fan_in, below.size());
            level.push_back(
                stack(last - first, [&](std::size_t i) -> View<const T> { return below[first + i].r.view; }));
            factor_block(level.back());
        }
        levels_.push_back(std::move(level));
    }

    template <class F>
    RowBlock<T> stack(std::size_t count, const F& triangle) {
        stacks_.emplace_back(static_cast<Index>(count) * k_, k_);
        const View<T> rows = stacks_.back().view;
        for (std::size_t i = 0; i < count; ++i)
            copy_elements<T>(triangle(i), rows.block(static_cast<Index>(i) * k_, 0, k_, k_));
        return RowBlock<T>(rows);
    }

    /// The members' triangles, and each one's part of Q in their place.
    void reduce_members() {
        const int members = team_.size();
        RowBlock<T> all = stack(static_cast<std::size_t>(members),
                                [&](std::size_t i) -> View<const T> { return triangle_of(static_cast<int>(i)); });
        factor_block(all);
        copy_elements<T>(all.r.view, r_);
        Own<T> unit(k_, k_);
        for (Index i = 0; i < k_; ++i) unit.view(i, i) = T{1};
        begin_expansion(all, unit.view);
        for (int rank = 0; rank < members; ++rank) part_of(all, rank * k_, triangle_of(rank));
    }

    // --- down ---

    /// H (B, 0)^T = (B, 0)^T - V W, W = T V_top^T B
    void begin_expansion(RowBlock<T>& block, View<const T> b) {
        copy_elements<T>(b, block.b.view);
        Own<T> product(k_, k_);
        blas::gemm<T>(T{1}, transposed(block.v.block(0, 0, k_, k_)), b, T{0}, product.view);
        blas::gemm<T>(T{1}, block.t.view, product.view, T{0}, block.w.view);
    }

    /// k rows of it from row `first` on.
    void part_of(const RowBlock<T>& block, Index first, View<T> to) const {
        if (first == 0) {
            copy_elements<T>(block.b.view, to);
        } else {
            for (Index j = 0; j < k_; ++j) std::fill_n(&to(0, j), k_, T{0});
        }
        blas::gemm<T>(T{-1}, block.v.block(first, 0, k_, k_), block.w.view, T{1}, to);
    }

    void expand(View<const T> b) {
        begin_expansion(levels_.back().front(), b);
        Own<T> part(k_, k_);
        for (std::size_t level = levels_.size() - 1; level > 0; --level) {
            for (std::size_t i = 0; i < levels_[level - 1].size(); ++i) {
                part_of(levels_[level][i / fan_in], static_cast<Index>(i % fan_in) * k_, part.view);
                begin_expansion(levels_[level - 1][i], part.view);
            }
        }
    }

    /// Q's top - S = L U without pivoting, S = diag(-sign of the pivots): no pivot is below 1. R = S R, T = -U S L^-T.
    void reconstruct() {
        Own<T> q(k_, k_);
        part_of(levels_.front().front(), 0, q.view);
        const View<T> lu = q.view;
        std::vector<T> signs(static_cast<std::size_t>(k_));
        for (Index j = 0; j < k_; ++j) {
            const T sign = signs[static_cast<std::size_t>(j)] = lu(j, j) >= 0 ? T{-1} : T{1};
            lu(j, j) -= sign;
            for (Index i = j + 1; i < k_; ++i) lu(i, j) /= lu(j, j);
            for (Index c = j + 1; c < k_; ++c) {
                for (Index i = j + 1; i < k_; ++i) lu(i, c) -= lu(i, j) * lu(j, c);
            }
        }
        top_ = std::make_unique<Own<T>>(k_, k_);
        for (Index j = 0; j < k_; ++j) {
            const T sign = signs[static_cast<std::size_t>(j)];
            for (Index i = 0; i < k_; ++i) {
                u()(i, j) = i <= j ? lu(i, j) : T{0};
                top_->view(i, j) = i > j ? lu(i, j) : i == j ? T{1} : T{0};
                r_(j, i) = j <= i ? sign * r_(j, i) : T{0};
                q.view(i, j) = i <= j ? -lu(i, j) * sign : T{0};
            }
        }
        // T L^T = -U S
        blas::trsm<T>(Side::right, Triangle::upper, Diagonal::unit, T{1}, transposed(top_->view), q.view);
        for (Index j = 0; j < k_; ++j) {
            for (Index i = 0; i < k_; ++i) t_(i, j) = i <= j ? q.view(i, j) : T{0};
        }
    }

    /// V = Q U^-1 = (B U^-1, 0)^T - V_block (W U^-1)
    void make_reflectors(RowBlock<T>& block) {
        blas::trsm<T>(Side::right, Triangle::upper, Diagonal::stored, T{1}, u(), block.b.view);
        blas::trsm<T>(Side::right, Triangle::upper, Diagonal::stored, T{1}, u(), block.w.view);
        Own<T> product(product_rows, k_);
        for (Index first = 0; first < block.v.rows(); first += product_rows) {
            const Index rows = std::min(product_rows, block.v.rows() - first);
            const View<T> part = block.v.block(first, 0, rows, k_), made = product.view.block(0, 0, rows, k_);
            blas::gemm<T>(T{-1}, part, block.w.view, T{0}, made);
            for (Index j = 0; j < k_; ++j) {
                for (Index i = first; i < std::min(first + rows, k_); ++i) made(i - first, j) += block.b.view(i, j);
            }
            copy_elements<T>(made, part);
        }
    }

    const Team& team_;
    const View<T> v_, r_, t_;
    const Index k_;
    QrPanelWorkspace<T>& shared_;
    TeamBarrier alone_;
    const Team member_;
    QrPanelWorkspace<T> own_workspace_;
    std::deque<Own<T>> stacks_;
    std::vector<std::vector<RowBlock<T>>> levels_;  ///< from the stretches of rows up to one triangle
    std::unique_ptr<Own<T>> top_;                   ///< V's first rows
};

}  // namespace

bool is_tall_panel(const Team& team, Index m, Index k) { return k > 1 && m >= least_aspect * k * team.size(); }

template <class T>
bool qr_tree_factor(const Team& team, View<T> v, View<T> r, View<T> t, QrPanelWorkspace<T>& shared) {
    const BlasSerial serial;
    TreeMember<T> member(team, v, r, t, shared);
    if (!member.numbers_are_safe()) return false;
    member.factor();
    return true;
}

template bool qr_tree_factor(const Team&, View<float>, View<float>, View<float>, QrPanelWorkspace<float>&);
template bool qr_tree_factor(const Team&, View<double>, View<double>, View<double>, QrPanelWorkspace<double>&);

}  // namespace basalt
