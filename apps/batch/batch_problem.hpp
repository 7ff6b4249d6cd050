#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "apps/batch/batch_check.hpp"
#include "apps/batch/batch_options.hpp"
#include "basalt/basalt.hpp"

namespace basalt {

/// The matrices of one call of `basalt batch`, what the routine makes of them, and how well that fits.
template <class T>
class BatchProblem {
  public:
    BatchProblem(Runtime& runtime, const BatchOptions& options)
        : runtime_(runtime),
          options_(options),
          matrices_(options.rows() * options.n * options.count),
          sides_(std::max(options.rows(), options.n) * options.sides() * options.count),
          info_(static_cast<std::size_t>(options.count)),
          pivots_(static_cast<std::size_t>(options.method == "lu" ? options.n * options.count : 0)),
          tau_(static_cast<std::size_t>(options.method == "qr" ? steps() * options.count : 0)),
          input_(static_cast<std::size_t>(matrices_)),
          input_sides_(static_cast<std::size_t>(sides_)) {
        runtime.submit_for({.name = "fill", .place = Place::cpu()}, {0, options.count}, fill_together,
                           [this](Index k) { fill(k); });
        runtime.wait();
    }

    /// LAPACK's name, without the precision.
    std::string routine() const {
        const char* const name = options_.method == "cholesky" ? (options_.solve ? "posv" : "potrf")
                                 : options_.method == "lu"     ? (options_.solve ? "gesv" : "getrf")
                                                               : (options_.solve ? "gels" : "geqrf");
        return std::string(name) + "_batched";
    }
    /// The standard operations of all matrices.
    double flops() const {
        const auto m = static_cast<double>(options_.rows()), n = static_cast<double>(options_.n),
                   sides = static_cast<double>(options_.sides());
        const double least = std::min(m, n);
        const double one = options_.method == "cholesky" ? n * n * n / 3 + 2 * n * n * sides
                           : options_.method == "lu"
                               ? 2 * n * n * n / 3 + 2 * n * n * sides
                               : 2 * least * least * (std::max(m, n) - least / 3) + 4 * m * n * sides;
        return one * static_cast<double>(options_.count);
    }

    /// Fresh copies of the matrices.
    void prepare() {
        a_ = input_;
        b_ = input_sides_;
    }
    /// Returns when all matrices are done.
    void run() {
        if (options_.method == "cholesky") {
            if (options_.solve) {
                batch_cholesky_factor_solve<T>(runtime_, Triangle::lower, matrices(a_), sides(b_), info_);
            } else {
                batch_cholesky_factor<T>(runtime_, Triangle::lower, matrices(a_), info_);
            }
        } else if (options_.method == "lu") {
            if (options_.solve) {
                batch_lu_factor_solve<T>(runtime_, matrices(a_), pivots(), sides(b_), info_);
            } else {
                batch_lu_factor<T>(runtime_, matrices(a_), pivots(), info_);
            }
        } else if (options_.solve) {
            batch_least_squares<T>(runtime_, matrices(a_), sides(b_), info_);
        } else {
            batch_qr_factor<T>(runtime_, matrices(a_), tau());
        }
    }

    /// Matrices whose INFO is not 0.
    Index failed() const {
        return std::count_if(info_.begin(), info_.end(), [](Index info) { return info != 0; });
    }

    /// The worst ratio of the matrices that did not fail; NaN if there is one.
    double residual_ratio() {
        std::vector<double> ratios(static_cast<std::size_t>(options_.count), 0.0);
        runtime_.submit_for({.name = "check", .place = Place::cpu()}, {0, options_.count}, fill_together,
                            [&](Index k) { ratios[static_cast<std::size_t>(k)] = ratio(k); });
        runtime_.wait();
        double worst = 0;
        for (const double own : ratios) {
            if (!(own <= worst)) worst = own;
        }
        return worst;
    }

  private:
    static constexpr Index fill_together = 16;

    Index steps() const { return std::min(options_.rows(), options_.n); }

    BatchView<T> matrices(std::vector<T>& values) const {
        const Index m = options_.rows();
        return BatchView<T>::strided(values.data(), options_.count, m, options_.n, std::max<Index>(1, m),
                                     m * options_.n);
    }
    BatchView<T> sides(std::vector<T>& values) const {
        const Index rows = std::max(options_.rows(), options_.n);
        return BatchView<T>::strided(values.data(), options_.count, rows, options_.sides(), std::max<Index>(1, rows),
                                     rows * options_.sides());
    }
    BatchView<Index> pivots() {
        return BatchView<Index>::strided(pivots_.data(), options_.count, options_.n, 1, std::max<Index>(1, options_.n),
                                         options_.n);
    }
    BatchView<T> tau() {
        return BatchView<T>::strided(tau_.data(), options_.count, steps(), 1, std::max<Index>(1, steps()), steps());
    }

    void fill(Index k) {
        const auto seed = options_.seed + static_cast<std::uint64_t>(k);
        const bool spd = options_.method == "cholesky";
        const auto own = make_generator<T>(spd ? "spd" : "random", options_.rows(), options_.n, seed);
        own->fill(matrices(input_)[k], 0, 0);
        if (!options_.solve) return;
        const View<T> b = sides(input_sides_)[k];
        make_generator<T>("random", b.rows(), b.cols(), seed + 1)->fill(b, 0, 0);
    }

    double ratio(Index k) {
        if (info_[static_cast<std::size_t>(k)] != 0) return 0;
        const View<const T> a = matrices(input_)[k], factors = matrices(a_)[k];
        if (options_.solve) {
            const View<const T> x = sides(b_)[k], b = sides(input_sides_)[k];
            if (a.rows() > a.cols()) return least_squares_residual<T>(a, x, b);
            return solution_residual<T>(a, x, b,
                                        options_.method == "cholesky" ? StoredPart::lower_triangle : StoredPart::all);
        }
        if (options_.method == "cholesky") return cholesky_residual<T>(a, factors);
        if (options_.method == "lu") return lu_residual<T>(a, factors, pivots()[k]);
        return qr_residual<T>(a, factors, tau()[k]);
    }

    Runtime& runtime_;
    const BatchOptions& options_;
    const Index matrices_, sides_;  ///< elements
    std::vector<Index> info_, pivots_;
    std::vector<T> tau_, input_, input_sides_, a_, b_;
};

}  // namespace basalt
