// QR in one process: ours, OpenBLAS's geqrf and its plain gemm in turn, each with all threads while the other
// contestants' threads sleep.
#include "bench/versus/qr.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <type_traits>

#include <fmt/format.h>
#include <lapacke.h>
#include <basalt/basalt.hpp>

#include "bench/versus/cpu_contest.hpp"
#include "bench/versus/qr_flops.hpp"

namespace bench {

namespace {

using basalt::Index;
using basalt::View;

template <class T>
void vendor_geqrf(Index m, Index n, T* a, T* tau) {
    if constexpr (std::is_same_v<T, double>) {
        LAPACKE_dgeqrf(LAPACK_COL_MAJOR, narrow(m), narrow(n), a, narrow(m), tau);
    } else {
        LAPACKE_sgeqrf(LAPACK_COL_MAJOR, narrow(m), narrow(n), a, narrow(m), tau);
    }
}

/// C = Q C by OpenBLAS, one column.
template <class T>
void vendor_multiply(Index m, Index k, const T* a, const T* tau, T* c) {
    if constexpr (std::is_same_v<T, double>) {
        LAPACKE_dormqr(LAPACK_COL_MAJOR, 'L', 'N', narrow(m), 1, narrow(k), a, narrow(m), tau, c, narrow(m));
    } else {
        LAPACKE_sormqr(LAPACK_COL_MAJOR, 'L', 'N', narrow(m), 1, narrow(k), a, narrow(m), tau, c, narrow(m));
    }
}

/// ||(A - Q R) x||_oo / (max(m, n) ||A||_oo eps) for one vector x of random signs; multiply(c) replaces c by Q c.
template <class T, class F>
double residual_ratio(View<const T> a, View<const T> factors, const F& multiply) {
    const Index m = a.rows(), n = a.cols(), k = std::min(m, n);
    std::mt19937_64 random(1);
    std::vector<double> product(static_cast<std::size_t>(m)), row_sums(product.size()), rx(product.size());
    for (Index j = 0; j < n; ++j) {
        const double x = (random() >> 63) != 0 ? 1.0 : -1.0;
        for (Index i = 0; i < m; ++i) {
            product[static_cast<std::size_t>(i)] += x * static_cast<double>(a(i, j));
            row_sums[static_cast<std::size_t>(i)] += std::abs(static_cast<double>(a(i, j)));
        }
        for (Index i = 0; i < std::min(j + 1, k); ++i)
            rx[static_cast<std::size_t>(i)] += x * static_cast<double>(factors(i, j));
    }
    std::vector<T> qrx(rx.begin(), rx.end());
    multiply(qrx.data());
    double error = 0;
    for (std::size_t i = 0; i < product.size(); ++i) {
        const double difference = std::abs(product[i] - static_cast<double>(qrx[i]));
        if (!(difference <= error)) error = difference;  // also if it is NaN
    }
    const double norm = *std::max_element(row_sums.begin(), row_sums.end());
    return error /
           (static_cast<double>(std::max(m, n)) * norm * static_cast<double>(std::numeric_limits<T>::epsilon()) / 2);
}

template <class T>
class QrContest : public CpuContest<T> {
  public:
    QrContest(const VersusOptions& options, basalt::Runtime& runtime, Index n)
        : QrContest(options, runtime, options.m > 0 ? options.m : n, n,
                    chosen_options(options, runtime.tuning(), options.m > 0 ? options.m : n, n)) {}

  private:
    QrContest(const VersusOptions& options, basalt::Runtime& runtime, Index m, Index n, const basalt::QrOptions& chosen)
        : CpuContest<T>(options, runtime, m, n,
                        options.tile == basalt::TileShape{}
                            ? basalt::default_qr_tile(runtime.tuning(), m, n, 0, chosen.method)
                            : options.tile,
                        "random"),
          qr_options_(chosen),
          tau_(static_cast<std::size_t>(std::min(m, n))) {
        const Index tile_width = this->matrix().tile_shape().width;
        const Index usual = by_tiles() ? tile_width : basalt::default_qr_panel(runtime.tuning(), qr_options_, m, n, 0);
        qr_options_.panel_width = std::min(qr_options_.panel_width.value_or(usual), tile_width);
    }

    static basalt::QrOptions chosen_options(const VersusOptions& options, const basalt::Tuning& tuning, Index m,
                                            Index n) {
        basalt::QrOptions chosen;
        chosen.mode = basalt::QrMode::cpu;
        chosen.method = options.method == "tile"   ? basalt::QrMethod::tile
                        : options.method == "auto" ? basalt::QrMethod::automatic
                                                   : basalt::QrMethod::blocked;
        if (options.nb > 0) chosen.panel_width = options.nb;
        chosen.panel_threads = options.panel_threads;
        chosen.lookahead = options.lookahead;
        return basalt::with_chosen_qr_method(tuning, chosen, chosen.mode, m, n);
    }
    bool by_tiles() const { return qr_options_.method == basalt::QrMethod::tile; }

    void factor() override {
        this->matrix().load(this->work());
        factors_.emplace(basalt::qr_factor(this->runtime(), this->matrix(), qr_options_));
        this->matrix().store(this->work());
        this->runtime().wait();
    }

    void factor_by_vendor() override { vendor_geqrf<T>(this->m(), this->n(), this->work().data(), tau_.data()); }

    /// Multiplies by Q with OpenBLAS's ormqr if the factors are LAPACK's.
    double checked_ratio() override {
        const Index m = this->m(), steps = std::min(m, this->n());
        return residual_ratio<T>(this->original(), this->work(), [&](T* c) {
            if (!by_tiles()) return vendor_multiply<T>(m, steps, this->work().data(), factors_->tau().data(), c);
            auto product = basalt::Matrix<T>::from_columns(this->runtime(), c, m, 1, m);
            basalt::qr_apply(this->runtime(), *factors_, basalt::QrSide::left, basalt::QrOp::plain, product);
            product.store(View<T>::column_major(c, m, 1, m));
            this->runtime().wait();
        });
    }

    void describe(basalt::FactorRecord& record) const override {
        record.routine = "geqrf";
        record.nb = *qr_options_.panel_width;
        record.flops = qr_flops(this->m(), this->n());
    }

    void add_to(basalt::JsonRecord& json) const override { json["method"] = by_tiles() ? "tile" : "blocked"; }

    basalt::QrOptions qr_options_;
    std::optional<basalt::QrFactors<T>> factors_;
    std::vector<T> tau_;
};

}  // namespace

int versus_qr(const VersusOptions& options) {
    return cpu_contests<QrContest>(options, "QR", "||(A - QR) x|| / (m ||A|| eps)");
}

}  // namespace bench
