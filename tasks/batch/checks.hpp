#pragma once

#include <algorithm>
#include <string>

#include "tasks/batch/operands.hpp"

/// What the calls of batch_lu.hpp and batch_qr.hpp demand of their operands in the host's memory; see operands.hpp.
namespace basalt::detail {

template <class T>
void check_lu(const char* call, const BatchView<const T>& a, const BatchView<const T>* b,
              const BatchView<const Index>* pivots) {
    check_square<const T>(call, "A", a);
    if (b != nullptr) check_right_sides<T>(call, a, *b);
    if (pivots == nullptr) return;
    check_companions<Index>(call, "pivots", *pivots, a, [&](Index k) { return BatchExtent{a[k].rows(), 1}; });
}

template <class T>
void check_qr(const char* call, const BatchView<const T>& a, const BatchView<const T>& tau) {
    check_batch<const T>(call, "A", a);
    check_companions<T>(call, "tau", tau, a, [&](Index k) {
        return BatchExtent{std::min(a[k].rows(), a[k].cols()), 1};
    });
}

template <class T>
void check_form(const BatchView<const T>& a, const BatchView<const T>& tau) {
    check_batch<const T>("batch_qr_form", "A", a);
    check_batch<const T>("batch_qr_form", "tau", tau);
    const auto reflectors = [&](Index k) { return k < tau.count() ? std::min(tau[k].rows(), a[k].cols()) : 0; };
    check_companions<T>("batch_qr_form", "tau", tau, a, [&](Index k) { return BatchExtent{reflectors(k), 1}; });
    for (Index k = 0; k < (a.uniform() && a.count() > 0 ? 1 : a.count()); ++k) {
        if (a[k].cols() <= a[k].rows()) continue;
        throw UsageError("batch_qr_form: matrix " + std::to_string(k) + " of A is " + std::to_string(a[k].rows()) +
                         " x " + std::to_string(a[k].cols()) + "; allowed are no more columns than rows");
    }
}

template <class T>
void check_least_squares(const BatchView<const T>& a, const BatchView<const T>& b, Index info) {
    check_batch<const T>("batch_least_squares", "A", a);
    check_batch<const T>("batch_least_squares", "B", b);
    check_info("batch_least_squares", a.count(), info);
    const auto columns = [&](Index k) { return k < b.count() ? b[k].cols() : 0; };
    check_companions<T>("batch_least_squares", "B", b, a, [&](Index k) {
        return BatchExtent{std::max(a[k].rows(), a[k].cols()), columns(k)};
    });
}

}  // namespace basalt::detail
