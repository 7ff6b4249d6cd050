#pragma once

/// Blue's constants for IEEE double, as in LAPACK 3.10's la_constants (Blue 1978; Anderson, ACM TOMS 44,
/// 2017): elements between the two thresholds can be squared as they are, the others are scaled first.
namespace basalt::blue {

constexpr double small_threshold = 0x1p-511;
constexpr double big_threshold = 0x1p486;
constexpr double small_scale = 0x1p537;
constexpr double big_scale = 0x1p-538;

/// Sums of squares: of big elements, times big_scale^2, of ordinary ones, and of small ones, times small_scale^2.
struct Sums {
    double big = 0;
    double middle = 0;
    double small = 0;

    /// Adds magnitude^2; a NaN joins the ordinary ones.
    constexpr void add(double magnitude) {
        if (magnitude > big_threshold) {
            big += (magnitude * big_scale) * (magnitude * big_scale);
        } else if (magnitude < small_threshold) {
            small += (magnitude * small_scale) * (magnitude * small_scale);
        } else {
            middle += magnitude * magnitude;
        }
    }

    constexpr void add(const Sums& other) {
        big += other.big;
        middle += other.middle;
        small += other.small;
    }
};

}  // namespace basalt::blue
