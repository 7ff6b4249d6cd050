#pragma once

#include <cstdint>

#include <basalt/view.hpp>

#include "kernels/on_stream/kernel.hpp"

/// Matrices of doubles on their way to single precision. All arguments lie in the device's memory; matrices are
/// row-major, vectors are contiguous columns.
namespace basalt::on_stream {

/// What becomes of the scaled magnitudes in a row.
enum class ScaledRows : std::uint8_t { largest, sums };

/// Where the magnitudes of some columns go.
struct MeasuredMagnitudes {
    View<double> row_sums;
    View<double> row_scaled;
    View<double> col_max;
    bool more;  ///< the rows' results are those of other columns so far, and go on from there
    ScaledRows of_rows = ScaledRows::largest;
};

struct MeasureMagnitudes
    : Kernel<MeasureMagnitudes, void(View<const double> a, View<const double> row_factors,
                                     View<const double> col_factors, MeasuredMagnitudes found, View<float> target)> {};
/// row_sums(i) = sum_j |a_ij|, and with s_ij = |a_ij row_factors(i) col_factors(j)|: row_scaled(i) = max_j s_ij
/// or sum_j s_ij, col_max(j) = max_i s_ij. A NaN makes the sums NaN; the maxima may ignore it. The same input gives the
/// same bits. The same reading of A makes the target of round_scaled(); an empty one is not made.
inline constexpr MeasureMagnitudes measure_magnitudes{};

struct RoundScaled : Kernel<RoundScaled, void(View<const double> a, View<const double> row_factors,
                                              View<const double> col_factors, View<float> target)> {};
/// target(i, j) = a_ij row_factors(i) col_factors(j), rounded, and 0 in rows and columns that `a` does not have: target
/// is at least as large. The first product is made first.
inline constexpr RoundScaled round_scaled{};

}  // namespace basalt::on_stream
