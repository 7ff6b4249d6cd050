#pragma once

#include <cmath>
#include <vector>

namespace basalt::detail {

/// The power of two p with p x in [1, 2), as far as p is a normal number; 1 for 0.
double power_to_one(double x);
/// The power of two p with p sqrt(x) in [1/2, 2), in the same way.
double power_to_root_of_one(double x);

/// A number that products of norms do not overflow: fraction 2^exponent. Infinity and NaN propagate.
class WideNumber {
  public:
    WideNumber(double x) : fraction_(x) {  // NOLINT(google-explicit-constructor): a double is one
        if (std::isfinite(x)) fraction_ = std::frexp(x, &exponent_);
    }

    friend WideNumber operator*(const WideNumber& x, const WideNumber& y) {
        return {x.fraction_ * y.fraction_, x.exponent_ + y.exponent_};
    }
    friend WideNumber operator/(const WideNumber& x, const WideNumber& y) {
        return {x.fraction_ / y.fraction_, x.exponent_ - y.exponent_};
    }
    bool is_zero() const { return fraction_ == 0; }
    bool is_finite() const { return std::isfinite(fraction_); }
    /// Infinite or 0 where double has no such number.
    double value() const { return std::ldexp(fraction_, exponent_); }

  private:
    WideNumber(double fraction, int exponent) : WideNumber(fraction) { exponent_ += exponent; }

    double fraction_;
    int exponent_ = 0;
};

/// Whether the numbers, apart from zeros, are within a factor of 16.
bool are_alike(const std::vector<double>& numbers);

}  // namespace basalt::detail
