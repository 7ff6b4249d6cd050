#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/mixed.hpp"
#include "tiles/lanes.hpp"

namespace basalt::on_stream {

namespace {

using detail::larger;
constexpr Index lanes = detail::loop_lanes;

struct MeasuredRow {
    double sum;
    double scaled;
};

template <ScaledRows of_rows>
constexpr double combined(double x, double y) {
    return of_rows == ScaledRows::sums ? x + y : larger(x, y);
}

/// One row: also makes the columns' maxima larger.
template <ScaledRows of_rows>
MeasuredRow measure_row(const double* a, Index cols, double factor, const double* col_factors, double* col_max) {
    std::array<double, lanes> sums{}, of_row{};
    Index j = 0;
    for (; j + lanes <= cols; j += lanes) {
        for (std::size_t q = 0; q < lanes; ++q) {
            const double magnitude = std::abs(a[j + static_cast<Index>(q)]);
            const double scaled = magnitude * factor * col_factors[j + static_cast<Index>(q)];
            sums[q] += magnitude;
            of_row[q] = combined<of_rows>(of_row[q], scaled);
            col_max[j + static_cast<Index>(q)] = larger(col_max[j + static_cast<Index>(q)], scaled);
        }
    }
    MeasuredRow row{0, 0};
    for (; j < cols; ++j) {
        const double magnitude = std::abs(a[j]), scaled = magnitude * factor * col_factors[j];
        row.sum += magnitude;
        row.scaled = combined<of_rows>(row.scaled, scaled);
        col_max[j] = larger(col_max[j], scaled);
    }
    for (std::size_t q = 0; q < lanes; ++q) {
        row.sum += sums[q];
        row.scaled = combined<of_rows>(row.scaled, of_row[q]);
    }
    return row;
}

/// Row i of the target of round_scaled().
void round_row(const View<const double>& a, const double* row_factors, const double* col_factors, Index i,
               const View<float>& target) {
    float* const to = &target(i, 0);
    const Index cols = i < a.rows() ? a.cols() : 0;
    if (cols > 0) {
        const double* const from = &a(i, 0);
        const double factor = row_factors[i];
        for (Index j = 0; j < cols; ++j) to[j] = static_cast<float>(from[j] * factor * col_factors[j]);
    }
    std::fill(to + cols, to + target.cols(), 0.0F);
}

template <ScaledRows of_rows>
void measure_window(View<const double> a, View<const double> row_factors, View<const double> col_factors,
                    const MeasuredMagnitudes& found, View<float> target) {
    std::fill_n(found.col_max.data(), a.cols(), 0.0);
    for (Index i = 0; i < a.rows(); ++i) {
        const MeasuredRow row =
            measure_row<of_rows>(&a(i, 0), a.cols(), row_factors[i], col_factors.data(), found.col_max.data());
        found.row_sums[i] = found.more ? found.row_sums[i] + row.sum : row.sum;
        found.row_scaled[i] = found.more ? combined<of_rows>(found.row_scaled[i], row.scaled) : row.scaled;
        if (!target.empty()) round_row(a, row_factors.data(), col_factors.data(), i, target);
    }
    for (Index i = a.rows(); i < target.rows(); ++i) round_row(a, nullptr, nullptr, i, target);
}

}  // namespace

void run_on_cpu(MeasureMagnitudes, View<const double> a, View<const double> row_factors, View<const double> col_factors,
                MeasuredMagnitudes found, View<float> target) {
    assert(a.col_stride() == 1 || a.cols() <= 1);
    assert(target.empty() || (target.rows() >= a.rows() && target.cols() >= a.cols()));
    found.of_rows == ScaledRows::sums ? measure_window<ScaledRows::sums>(a, row_factors, col_factors, found, target)
                                      : measure_window<ScaledRows::largest>(a, row_factors, col_factors, found, target);
}

void run_on_cpu(RoundScaled, View<const double> a, View<const double> row_factors, View<const double> col_factors,
                View<float> target) {
    assert(target.rows() >= a.rows() && target.cols() >= a.cols());
    for (Index i = 0; i < target.rows(); ++i) round_row(a, row_factors.data(), col_factors.data(), i, target);
}

template <>
const MeasureMagnitudes::Cpu Code<MeasureMagnitudes>::cpu = cpu_code<MeasureMagnitudes>;
template <>
const RoundScaled::Cpu Code<RoundScaled>::cpu = cpu_code<RoundScaled>;

}  // namespace basalt::on_stream
