// GMRES with the factors of low precision as preconditioner from the right: each basis vector v_m gives z_m = A'^-1
// v_m, and A z_m is made orthogonal to v_0 .. v_m. The correction is the combination of the z_m with the least
// residual. As each z_m is kept, rounding in A'^-1 does not limit the accuracy (Saad, "A flexible inner-outer
// preconditioned GMRES algorithm", SIAM J. Sci. Comput. 14, 1993).
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tasks/mixed/system.hpp"
#include "tiles/norms.hpp"

namespace basalt::detail {

namespace {

using Column = std::vector<double>;

void subtract_times(double factor, const Column& a, Column& from) {
    for (std::size_t i = 0; i < a.size(); ++i) from[i] -= factor * a[i];
}

/// The least-squares problem of one right-hand side: min || beta e_0 - H y ||, H by Givens rotations.
class KrylovSpace {
  public:
    KrylovSpace(Column residual, double length) : first_length_(length), right_side_{length} {
        for (double& x : residual) x /= length;
        basis_.push_back(std::move(residual));
    }

    const Column& newest() const { return basis_.back(); }
    double first_length() const { return first_length_; }
    /// The least residual so far.
    double length() const { return std::abs(right_side_.back()); }

    /// Adds z = A'^-1 newest() and w = A z.
    void add(Column z, Column w) {
        Column h;
        for (const Column& v : basis_) {
            h.push_back(dot(v, w));
            subtract_times(h.back(), v, w);
        }
        for (std::size_t i = 0; i < basis_.size(); ++i) {  // once more, against rounding
            const double rest = dot(basis_[i], w);
            h[i] += rest;
            subtract_times(rest, basis_[i], w);
        }
        const double below = std::sqrt(dot(w, w));
        directions_.push_back(std::move(z));
        rotate(h, below);
        if (below > 0) {
            for (double& x : w) x /= below;
        }
        basis_.push_back(std::move(w));
    }

    /// x += the best correction times a power of two, x being column c.
    void correct(Vectors& x, Index c, double power) const {
        const std::size_t steps = directions_.size();
        Column y(steps);
        for (std::size_t i = steps; i-- > 0;) {
            double sum = right_side_[i];
            for (std::size_t j = i + 1; j < steps; ++j) sum -= columns_[j][i] * y[j];
            y[i] = columns_[i][i] == 0 ? 0 : sum / columns_[i][i];
        }
        for (Index i = 0; i < x.n(); ++i) {
            double sum = 0;
            for (std::size_t j = 0; j < steps; ++j) sum += y[j] * directions_[j][static_cast<std::size_t>(i)];
            x(i, c) += sum * power;
        }
    }

  private:
    struct Rotation {
        double cosine, sine;
    };

    void rotate(Column& h, double below) {
        for (std::size_t i = 0; i < rotations_.size(); ++i) {
            const auto [cosine, sine] = rotations_[i];
            const double upper = cosine * h[i] + sine * h[i + 1];
            h[i + 1] = -sine * h[i] + cosine * h[i + 1];
            h[i] = upper;
        }
        const double size = std::hypot(h.back(), below);
        const Rotation next = size == 0 ? Rotation{1, 0} : Rotation{h.back() / size, below / size};
        h.back() = size;
        right_side_.push_back(-next.sine * right_side_.back());
        right_side_[right_side_.size() - 2] *= next.cosine;
        rotations_.push_back(next);
        columns_.push_back(std::move(h));
    }

    double first_length_;
    std::vector<Column> basis_, directions_, columns_;  // columns_: of H, after the rotations
    std::vector<Rotation> rotations_;
    Column right_side_;
};

/// The right-hand sides that are not accepted yet, and their spaces. With scaling factors R of rows the system is R A x
/// = R b: large rows hide the residuals of the others otherwise.
class GmresCycle {
  public:
    GmresCycle(MixedSystem& system, const Vectors* first) : s_(system), first_(first) {
        for (Index c = 0; c < s_.b.k(); ++c) {
            const double excess = s_.excess(c);
            if (excess <= 1) continue;
            Vectors residual(s_.b.n(), 1);
            const double power = is_scaled() ? power_to_one(s_.residual.scaled_norm(c, rows())) : 1;
            for (Index i = 0; i < residual.n(); ++i) residual(i, 0) = scaled(s_.residual(i, c), i) * power;
            spaces_.push_back({c, power, KrylovSpace(column_of(residual, 0), residual.length(0)),
                               length_for(residual.norm(0) / excess)});
        }
        for (std::size_t i = 0; i < spaces_.size(); ++i) open_.push_back(i);
    }

    bool is_done() const { return open_.empty(); }

    /// One step for all that are open.
    void step() {
        Vectors z(s_.b.n(), std::ssize(open_));
        if (first_ != nullptr) {
            for (Index q = 0; q < z.k(); ++q) {
                const Space& space = spaces_[open_[static_cast<std::size_t>(q)]];
                for (Index i = 0; i < z.n(); ++i) {
                    z(i, q) = (*first_)(i, space.column) * space.power / space.krylov.first_length();
                }
            }
            first_ = nullptr;
        } else {
            Vectors v(z.n(), z.k());
            for (Index q = 0; q < v.k(); ++q) {
                const Column& newest = spaces_[open_[static_cast<std::size_t>(q)]].krylov.newest();
                for (Index i = 0; i < v.n(); ++i) v(i, q) = unscaled(newest[static_cast<std::size_t>(i)], i);
            }
            s_.factors.solve(v, z);
        }
        Vectors w(z.n(), z.k());
        s_.product.subtract(z, w);
        for (Index q = 0; q < z.k(); ++q) {
            Column of_w = column_of(w, q);
            for (Index i = 0; i < w.n(); ++i) of_w[static_cast<std::size_t>(i)] = -scaled(w(i, q), i);
            spaces_[open_[static_cast<std::size_t>(q)]].krylov.add(column_of(z, q), std::move(of_w));
        }
        ++steps_;
        std::erase_if(open_, [this](std::size_t i) { return spaces_[i].krylov.length() <= spaces_[i].target; });
    }

    /// Steps that are still needed at the pace so far; NaN where a residual is not finite.
    double steps_left() const {
        double most = 0;
        for (const std::size_t i : open_) {
            const Space& space = spaces_[i];
            const double gained = std::log(space.krylov.first_length() / space.krylov.length());
            most = max_or_nan(most, std::log(space.krylov.length() / space.target) / gained * steps_);
            if (!(gained > 0)) most = max_or_nan(most, std::isnan(gained) ? gained : HUGE_VAL);
        }
        return most;
    }

    void correct() const {
        for (const Space& space : spaces_) space.krylov.correct(s_.x, space.column, 1 / space.power);
    }

  private:
    struct Space {
        Index column;
        double power;  ///< of two, by which the scaled residual is multiplied
        KrylovSpace krylov;
        double target;  ///< length of a residual that is small enough
    };

    bool is_scaled() const { return s_.lowered.is_scaled(); }
    const std::vector<double>& rows() const { return s_.lowered.factors().rows; }
    double scaled(double x, Index i) const { return is_scaled() ? x * rows()[static_cast<std::size_t>(i)] : x; }
    double unscaled(double x, Index i) const { return is_scaled() ? x / rows()[static_cast<std::size_t>(i)] : x; }

    static Column column_of(const Vectors& from, Index c) {
        Column column(static_cast<std::size_t>(from.n()));
        for (Index i = 0; i < from.n(); ++i) column[static_cast<std::size_t>(i)] = from(i, c);
        return column;
    }

    /// The length of a residual whose largest element is `largest`: at the end its elements are of about equal size,
    /// and the largest one a few times their mean.
    double length_for(double largest) const {
        constexpr double times_larger = 8;
        return largest * std::max(1.0, std::sqrt(static_cast<double>(s_.b.n())) / times_larger);
    }

    MixedSystem& s_;
    const Vectors* first_;
    std::vector<Space> spaces_;
    std::vector<std::size_t> open_;
    int steps_ = 0;
};

}  // namespace

MixedOutcome refine_by_gmres(MixedSystem& system, const Vectors* first, int& made) {
    constexpr int patience = 4;     // steps before the pace is judged
    constexpr double optimism = 2;  // GMRES becomes faster
    system.measure_if_carried();
    for (double before = system.worst_excess();;) {
        GmresCycle cycle(system, first);
        first = nullptr;
        bool slow = false;
        for (int steps = 1; !cycle.is_done() && !slow && made < system.limit; ++steps) {
            cycle.step();
            ++made;
            const double left = cycle.steps_left();
            if (std::isnan(left)) return MixedOutcome::breakdown;
            slow = steps >= patience && left > optimism * (system.limit - made);
        }
        cycle.correct();
        system.measure();
        const double excess = system.worst_excess();
        if (excess <= 1) return MixedOutcome::refined;
        if (!std::isfinite(excess)) return MixedOutcome::breakdown;
        if (slow || !(excess < before / 2)) return MixedOutcome::stagnation;
        if (made >= system.limit) return MixedOutcome::iteration_limit;
        before = excess;
    }
}

}  // namespace basalt::detail
