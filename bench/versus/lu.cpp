// LU in one process: ours, OpenBLAS's getrf and its plain gemm in turn, each with all threads while the other
// contestants' threads sleep.
#include "bench/versus/lu.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>

#include <fmt/format.h>
#include <basalt/lu.hpp>

#include "bench/versus/cpu_contest.hpp"

namespace bench {

namespace {

using basalt::Index;
using basalt::View;

/// LAPACK's count in its leading terms; 2/3 n^3 for m = n.
double operations(Index m, Index n) {
    const auto k = static_cast<double>(std::min(m, n));
    const auto l = static_cast<double>(std::max(m, n));
    return k * k * (l - k / 3);
}

double infinity_norm(const std::vector<double>& x) {
    double norm = 0;
    for (const double entry : x) norm = std::fmax(norm, std::abs(entry));
    return norm;
}

/// y += A x for rows [first(j), last(j)) of column j.
template <class T, class First, class Last>
void add_product(View<const T> a, const std::vector<double>& x, std::vector<double>& y, First first, Last last) {
    for (Index j = 0; j < a.cols(); ++j) {
        const double factor = x[static_cast<std::size_t>(j)];
        for (Index i = first(j); i < last(j); ++i) {
            y[static_cast<std::size_t>(i)] += static_cast<double>(a(i, j)) * factor;
        }
    }
}

/// ||(A - P L U) x||_oo / (n ||A||_oo eps) for one vector x of random signs: a lower bound of LAPACK's ratio
/// in the infinity norm, at the cost of three products with a vector. NaN if the factors hold a NaN.
template <class T>
double residual_ratio(View<const T> a, View<const T> factors, const std::vector<Index>& pivots) {
    const auto none = [](Index) { return Index{0}; };
    const auto all = [&](Index) { return a.rows(); };
    const Index k = std::min(a.rows(), a.cols());
    std::mt19937_64 random(1);
    std::vector<double> x(static_cast<std::size_t>(a.cols())), ux(static_cast<std::size_t>(k));
    for (double& entry : x) entry = (random() >> 63) != 0 ? 1.0 : -1.0;
    add_product(factors, x, ux, none, [&](Index j) { return std::min(j + 1, k); });
    std::vector<double> plux = ux;  // the unit diagonal of L
    plux.resize(static_cast<std::size_t>(a.rows()));
    add_product(
        factors.block(0, 0, a.rows(), k), ux, plux, [](Index j) { return j + 1; }, all);
    for (Index i = std::ssize(pivots) - 1; i >= 0; --i) {
        std::swap(plux[static_cast<std::size_t>(i)],
                  plux[static_cast<std::size_t>(pivots[static_cast<std::size_t>(i)] - 1)]);
    }

    std::vector<double> residual(static_cast<std::size_t>(a.rows())), row_sums(residual.size());
    add_product(a, x, residual, none, all);
    for (std::size_t i = 0; i < residual.size(); ++i) residual[i] -= plux[i];
    for (Index j = 0; j < a.cols(); ++j) {
        for (Index i = 0; i < a.rows(); ++i) {
            row_sums[static_cast<std::size_t>(i)] += std::abs(static_cast<double>(a(i, j)));
        }
    }
    const double sum = [&] {  // fmax() ignores NaN, a sum does not
        double total = 0;
        for (const double entry : residual) total += entry;
        return total;
    }();
    if (std::isnan(sum)) return sum;
    const double epsilon = std::numeric_limits<T>::epsilon() / 2;
    return infinity_norm(residual) / (static_cast<double>(a.cols()) * infinity_norm(row_sums) * epsilon);
}

template <class T>
class LuContest : public CpuContest<T> {
  public:
    LuContest(const VersusOptions& options, basalt::Runtime& runtime, Index n)
        : LuContest(options, runtime, options.m > 0 ? options.m : n, n) {}

  private:
    LuContest(const VersusOptions& options, basalt::Runtime& runtime, Index m, Index n)
        : CpuContest<T>(
              options, runtime, m, n,
              options.tile == basalt::TileShape{} ? basalt::default_lu_tile(runtime.tuning(), m, n) : options.tile,
              "random"),
          vendor_pivots_(static_cast<std::size_t>(std::min(m, n))) {
        const Index nb = options.nb > 0 ? options.nb : basalt::default_lu_tile(runtime.tuning(), m, n).width;
        lu_options_.panel_width = std::min(nb, this->matrix().tile_shape().width);
        lu_options_.panel_threads = options.panel_threads;
        lu_options_.lookahead = options.lookahead;
    }

    void factor() override {
        this->matrix().load(this->work());
        factors_.emplace(basalt::lu_factor(this->runtime(), this->matrix(), lu_options_));
        this->matrix().store(this->work());
        this->runtime().wait();
    }

    void factor_by_vendor() override { Vendor<T>::getrf(this->m(), this->n(), this->work().data(), vendor_pivots_); }

    double checked_ratio() override {
        info_ = factors_->info();
        return residual_ratio<T>(this->original(), this->work(), factors_->pivots());
    }

    void describe(basalt::FactorRecord& record) const override {
        record.routine = "getrf";
        record.nb = *lu_options_.panel_width;
        record.flops = operations(this->m(), this->n());
        record.info = info_;
    }

    basalt::LuOptions lu_options_;
    std::optional<basalt::LuFactors<T>> factors_;
    std::vector<lapack_int> vendor_pivots_;
    Index info_ = 0;
};

}  // namespace

int versus_lu(const VersusOptions& options) {
    return cpu_contests<LuContest>(options, "LU", "||(A - PLU) x|| / (n ||A|| eps)");
}

}  // namespace bench
