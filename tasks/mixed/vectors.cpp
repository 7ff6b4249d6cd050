#include "tasks/mixed/vectors.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "tasks/mixed/scaling.hpp"
#include "tiles/lanes.hpp"
#include "tiles/norms.hpp"

namespace basalt::detail {

namespace {

using PartialResults = std::array<double, loop_lanes>;

}  // namespace

double Vectors::norm(Index c) const {
    const View<const double> column = view().block(0, c, n_, 1);
    PartialResults most{}, nan{};
    in_lanes(n_, [&](std::size_t lane, Index i) {
        const double magnitude = std::abs(column[i]);
        most[lane] = larger(most[lane], magnitude);
        nan[lane] = magnitude == magnitude ? nan[lane] : magnitude;
    });
    double largest = 0;
    for (std::size_t lane = 0; lane < loop_lanes; ++lane) largest = max_or_nan(largest, most[lane] + nan[lane]);
    return largest;
}

double Vectors::scaled_norm(Index c, double scale, const std::vector<double>& factors) const {
    const View<const double> column = view().block(0, c, n_, 1);
    PartialResults most{};
    in_lanes(n_, [&](std::size_t lane, Index i) {
        most[lane] = larger(most[lane], std::abs(column[i] * scale * factors[static_cast<std::size_t>(i)]));
    });
    return *std::max_element(most.begin(), most.end());
}

WideNumber Vectors::wide_norm(Index c, const std::vector<double>& factors) const {
    const double largest = norm(c), scale = power_to_one(largest);
    if (largest == 0 || !std::isfinite(largest)) return largest;
    return WideNumber(scaled_norm(c, scale, factors)) / scale;
}

double Vectors::length(Index c) const {
    const double largest = norm(c), scale = power_to_one(largest);
    if (largest == 0 || !std::isfinite(largest)) return largest;
    const View<const double> column = view().block(0, c, n_, 1);
    PartialResults sums{};
    in_lanes(n_, [&](std::size_t lane, Index i) {
        const double scaled = column[i] * scale;
        sums[lane] += scaled * scaled;
    });
    double sum = 0;
    for (const double part : sums) sum += part;
    return std::sqrt(sum) / scale;
}

double backward_error(const Vectors& residual, double norm, const Vectors& x, const Vectors& b) {
    double worst = 0;
    for (Index c = 0; c < b.k(); ++c) {
        const WideNumber size = residual.norm(c);
        if (size.is_zero()) continue;
        const double of_product = (norm * WideNumber(x.norm(c)) / size).value(), of_b = (b.norm(c) / size).value();
        worst = max_or_nan(worst, 1 / (of_product + of_b));
    }
    return worst;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
    PartialResults sums{};
    in_lanes(std::ssize(a), [&](std::size_t lane, Index i) {
        sums[lane] += a[static_cast<std::size_t>(i)] * b[static_cast<std::size_t>(i)];
    });
    double sum = 0;
    for (const double part : sums) sum += part;
    return sum;
}

void Vectors::put(const View<double>& to) const { std::copy(values_.begin(), values_.end(), to.data()); }

void Vectors::take(const View<const double>& from) { std::copy_n(from.data(), values_.size(), values_.begin()); }

void Vectors::add(const View<const double>& from) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] += from.data()[i];
}

void Vectors::add(const Vectors& other) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] += other.values_[i];
}

}  // namespace basalt::detail
