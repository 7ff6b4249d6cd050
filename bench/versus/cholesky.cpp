// Cholesky of the lower triangle in one process: ours, OpenBLAS's potrf and its plain gemm in turn, each with all the
// threads while the other contestants' threads sleep.
#include "bench/versus/cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <type_traits>

#include <fmt/format.h>
#include <lapacke.h>
#include <basalt/basalt.hpp>

#include "bench/versus/cpu_contest.hpp"

namespace bench {

namespace {

using basalt::Index;
using basalt::View;

template <class T>
void vendor_potrf(Index n, T* a) {
    if constexpr (std::is_same_v<T, double>) {
        LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', narrow(n), a, narrow(n));
    } else {
        LAPACKE_spotrf_work(LAPACK_COL_MAJOR, 'L', narrow(n), a, narrow(n));
    }
}

/// ||(A - L L^T) x||_oo / (n ||A||_oo eps) for one vector x of random signs. It reads the lower triangle of both
/// arrays.
template <class T>
double residual_ratio(View<const T> a, View<const T> factor) {
    const Index n = a.rows();
    std::mt19937_64 random(1);
    std::vector<double> x(static_cast<std::size_t>(n)), product(x.size()), row_sums(x.size()), ltx(x.size());
    for (double& entry : x) entry = (random() >> 63) != 0 ? 1.0 : -1.0;
    const auto at = [](std::vector<double>& v, Index i) -> double& { return v[static_cast<std::size_t>(i)]; };
    for (Index j = 0; j < n; ++j) {
        for (Index i = j; i < n; ++i) {
            const double element = static_cast<double>(a(i, j));
            at(product, i) += element * at(x, j);
            at(row_sums, i) += std::abs(element);
            if (i > j) at(product, j) += element * at(x, i), at(row_sums, j) += std::abs(element);
            at(ltx, j) += static_cast<double>(factor(i, j)) * at(x, i);
        }
    }
    for (Index j = 0; j < n; ++j) {
        for (Index i = j; i < n; ++i) at(product, i) -= static_cast<double>(factor(i, j)) * at(ltx, j);
    }
    double error = 0;
    for (const double entry : product)
        error = std::abs(entry) <= error ? error : std::abs(entry);  // also if the entry is NaN
    const double norm = *std::max_element(row_sums.begin(), row_sums.end());
    return error / (static_cast<double>(n) * norm * static_cast<double>(std::numeric_limits<T>::epsilon()) / 2);
}

template <class T>
class CholeskyContest : public CpuContest<T> {
  public:
    CholeskyContest(const VersusOptions& options, basalt::Runtime& runtime, Index n)
        : CpuContest<T>(options, runtime, n, n, tile_for(options, runtime.tuning(), n), "spd") {
        cholesky_options_.mode = basalt::FactorMode::cpu;
        const Index nb =
            options.nb > 0 ? options.nb : basalt::default_cholesky_panel(runtime.tuning(), cholesky_options_, n, n, 0);
        cholesky_options_.panel_width = std::min(nb, this->matrix().tile_shape().width);
        cholesky_options_.lookahead = options.lookahead;
    }

  private:
    static basalt::TileShape tile_for(const VersusOptions& options, const basalt::Tuning& tuning, Index n) {
        if (options.m > 0 && options.m != n)
            throw std::invalid_argument("--m: Cholesky is of square matrices, allowed is --n");
        if (options.upper) throw std::invalid_argument("--upper: of GPUs' arrays, allowed is --mode hybrid or gpu");
        return options.tile == basalt::TileShape{} ? basalt::default_cholesky_tile(tuning, n) : options.tile;
    }

    void factor() override {
        this->matrix().load_triangle(basalt::Triangle::lower, this->work());
        const auto cholesky =
            basalt::cholesky_factor(this->runtime(), this->matrix(), basalt::Triangle::lower, cholesky_options_);
        this->matrix().store_triangle(basalt::Triangle::lower, this->work());
        this->runtime().wait();
        info_ = cholesky.info();
    }

    void factor_by_vendor() override { vendor_potrf<T>(this->n(), this->work().data()); }

    double checked_ratio() override {
        if (info_ != 0) return std::numeric_limits<double>::quiet_NaN();
        return residual_ratio<T>(this->original(), this->work());
    }

    void describe(basalt::FactorRecord& record) const override {
        record.routine = "potrf";
        record.nb = *cholesky_options_.panel_width;
        record.flops = std::pow(static_cast<double>(this->n()), 3) / 3;
        record.info = info_;
    }

    basalt::CholeskyOptions cholesky_options_;
    Index info_ = 0;
};

}  // namespace

int versus_cholesky(const VersusOptions& options) {
    return cpu_contests<CholeskyContest>(options, "Cholesky", "||(A - LL') x|| / (n ||A|| eps)");
}

}  // namespace bench
