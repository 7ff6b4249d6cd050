// Factorizations of matrices and what their factors do.
#include <algorithm>
#include <optional>
#include <type_traits>
#include <vector>

#include "capi/objects.hpp"

namespace basalt::capi {

namespace {

template <class F>
struct FactorKind;
template <class T>
struct FactorKind<LuFactors<T>> {
    using Element = T;
    static constexpr bool is_lu = true, is_qr = false;
};
template <class T>
struct FactorKind<CholeskyFactors<T>> {
    using Element = T;
    static constexpr bool is_lu = false, is_qr = false;
};
template <class T>
struct FactorKind<QrFactors<T>> {
    using Element = T;
    static constexpr bool is_lu = false, is_qr = true;
};

FactorMode mode_of(basalt_mode mode) {
    require_range("mode", mode, BASALT_MODE_AUTOMATIC, BASALT_MODE_GPU);
    switch (mode) {
        case BASALT_MODE_CPU: return FactorMode::cpu;
        case BASALT_MODE_HYBRID: return FactorMode::hybrid;
        case BASALT_MODE_GPU: return FactorMode::gpu;
        default: return FactorMode::automatic;
    }
}

/// What LuOptions, CholeskyOptions and QrOptions share.
template <class Options>
Options options_of(const basalt_factor_options* given) {
    Options options;
    if (given == nullptr) return options;
    options.mode = mode_of(given->mode);
    if (given->panel_width != 0) options.panel_width = given->panel_width;
    if constexpr (requires { options.products; }) {
        if (given->plain_products) options.products = ProductPrecision::plain;
    } else {
        options.split_products = !given->plain_products;
    }
    if constexpr (requires { options.panel_threads; }) {
        if (given->panel_threads != 0) options.panel_threads = given->panel_threads;
    } else if (given->panel_threads != 0) {
        throw UsageError("panel_threads is not an option of Cholesky; allowed is 0");
    }
    if constexpr (std::is_same_v<Options, LuOptions>) {
        if (given->tf32) options.products = ProductPrecision::tf32;
    } else if (given->tf32) {
        throw UsageError("tf32 is an option of LU alone; allowed is false");
    }
    return options;
}

template <class F>
auto with_factors(const basalt_factors* factors, const F& visit) {
    return std::visit(visit, required(factors, "factors").factors);
}

/// The QR factors. Throws UsageError for others.
template <class F>
void with_qr(const basalt_factors* factors, const F& visit) {
    with_factors(factors, [&]<class Factors>(const Factors& f) {
        if constexpr (FactorKind<Factors>::is_qr) {
            visit(f);
        } else {
            throw UsageError("factors are of LU or Cholesky; allowed are those of QR");
        }
    });
}

template <class Make>
void make_factors(basalt_matrix* a, basalt_factors** factors, const Make& make) {
    auto& made = required(factors, "factors");
    std::visit([&](auto& matrix) { made = new basalt_factors(a->life, make(matrix)); }, required(a, "a").matrix);
}

}  // namespace

}  // namespace basalt::capi

namespace capi = basalt::capi;
using basalt::Matrix;
using capi::FactorKind;
using capi::guarded;
using capi::matrix_of;
using capi::required;
using capi::with_factors;

basalt_status basalt_lu_factor(basalt_matrix* a, const basalt_factor_options* options, basalt_factors** factors) {
    return guarded(__func__, [&] {
        capi::make_factors(a, factors, [&](auto& matrix) {
            return basalt::lu_factor(matrix.runtime(), matrix, capi::options_of<basalt::LuOptions>(options));
        });
    });
}
basalt_status basalt_cholesky_factor(basalt_matrix* a, basalt_triangle triangle, const basalt_factor_options* options,
                                     basalt_factors** factors) {
    return guarded(__func__, [&] {
        capi::make_factors(a, factors, [&](auto& matrix) {
            return basalt::cholesky_factor(matrix.runtime(), matrix, capi::triangle_of(triangle),
                                           capi::options_of<basalt::CholeskyOptions>(options));
        });
    });
}
basalt_status basalt_qr_factor(basalt_matrix* a, const basalt_factor_options* options, basalt_factors** factors) {
    return guarded(__func__, [&] {
        capi::make_factors(a, factors, [&](auto& matrix) {
            return basalt::qr_factor(matrix.runtime(), matrix, capi::options_of<basalt::QrOptions>(options));
        });
    });
}
basalt_status basalt_least_squares(basalt_matrix* a, basalt_matrix* b, const basalt_factor_options* options,
                                   basalt_factors** factors) {
    return guarded(__func__, [&] {
        std::visit(
            [&]<class T>(Matrix<T>& matrix) {
                auto qr = capi::options_of<basalt::QrOptions>(options);
                qr.method = basalt::QrMethod::automatic;
                const auto found =
                    basalt::least_squares(matrix.runtime(), matrix, matrix_of<T>(required(b, "b"), "b"), qr);
                if (factors != nullptr) *factors = new basalt_factors(a->life, found);
            },
            required(a, "a").matrix);
    });
}

void basalt_factors_destroy(basalt_factors* factors) { delete factors; }

basalt_status basalt_factors_info(const basalt_factors* factors, int64_t* info) {
    return guarded(__func__, [&] {
        int64_t& outcome = required(info, "info");
        outcome = with_factors(factors, [](const auto& f) { return f.info(); });
    });
}
basalt_status basalt_factors_pivots(const basalt_factors* factors, int64_t* pivots) {
    return guarded(__func__, [&] {
        with_factors(factors, [&]<class Factors>(const Factors& f) {
            if constexpr (FactorKind<Factors>::is_lu) {
                const std::vector<basalt::Index> found = f.pivots();
                if (!found.empty()) std::copy(found.begin(), found.end(), &required(pivots, "pivots"));
            } else {
                throw basalt::UsageError("factors are of Cholesky or QR; allowed are those of LU");
            }
        });
    });
}
basalt_status basalt_factors_tau(const basalt_factors* factors, void* tau) {
    return guarded(__func__, [&] {
        capi::with_qr(factors, [&]<class T>(const basalt::QrFactors<T>& f) {
            const std::vector<T> found = f.tau();
            if (!found.empty()) std::copy(found.begin(), found.end(), &required(static_cast<T*>(tau), "tau"));
        });
    });
}

basalt_status basalt_factors_solve(const basalt_factors* factors, basalt_matrix* b) {
    return guarded(__func__, [&] {
        with_factors(factors, [&]<class Factors>(const Factors& f) {
            auto& rhs = matrix_of<typename FactorKind<Factors>::Element>(required(b, "b"), "b");
            if constexpr (FactorKind<Factors>::is_lu) {
                basalt::lu_solve(factors->life->runtime(), f, rhs);
            } else if constexpr (FactorKind<Factors>::is_qr) {
                basalt::qr_solve(factors->life->runtime(), f, rhs);
            } else {
                basalt::cholesky_solve(factors->life->runtime(), f, rhs);
            }
        });
    });
}
basalt_status basalt_factors_solve_transposed(const basalt_factors* factors, basalt_matrix* b) {
    return guarded(__func__, [&] {
        with_factors(factors, [&]<class Factors>(const Factors& f) {
            auto& rhs = matrix_of<typename FactorKind<Factors>::Element>(required(b, "b"), "b");
            if constexpr (FactorKind<Factors>::is_lu) {
                basalt::lu_solve_transposed(factors->life->runtime(), f, rhs);
            } else if constexpr (FactorKind<Factors>::is_qr) {
                basalt::qr_solve_transposed(factors->life->runtime(), f, rhs);
            } else {
                basalt::cholesky_solve(factors->life->runtime(), f, rhs);  // A is symmetric
            }
        });
    });
}
basalt_status basalt_factors_reciprocal_condition(const basalt_factors* factors, double norm, double* condition) {
    return guarded(__func__, [&] {
        double& estimate = required(condition, "condition");
        estimate = with_factors(factors, [&]<class Factors>(const Factors& f) {
            if constexpr (FactorKind<Factors>::is_lu) {
                return basalt::lu_reciprocal_condition(factors->life->runtime(), f, norm);
            } else if constexpr (FactorKind<Factors>::is_qr) {
                return basalt::qr_reciprocal_condition(factors->life->runtime(), f);
            } else {
                return basalt::cholesky_reciprocal_condition(factors->life->runtime(), f, norm);
            }
        });
    });
}

basalt_status basalt_qr_apply(const basalt_factors* factors, basalt_side side, basalt_op op, basalt_matrix* c) {
    return guarded(__func__, [&] {
        capi::with_qr(factors, [&]<class T>(const basalt::QrFactors<T>& f) {
            basalt::qr_apply(factors->life->runtime(), f, capi::side_of(side), capi::op_of(op),
                             matrix_of<T>(required(c, "c"), "c"));
        });
    });
}
basalt_status basalt_qr_form(const basalt_factors* factors, int64_t cols, basalt_matrix** q) {
    return guarded(__func__, [&] {
        auto& made = required(q, "q");
        capi::with_qr(factors, [&]<class T>(const basalt::QrFactors<T>& f) {
            made = new basalt_matrix{factors->life, basalt::qr_form(factors->life->runtime(), f, cols)};
        });
    });
}
