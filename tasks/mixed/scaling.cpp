#include "tasks/mixed/scaling.hpp"

#include <algorithm>
#include <cmath>

namespace basalt::detail {

namespace {

constexpr int largest_exponent = 1000;  // its power of two and the inverse are normal numbers

double power(int exponent) { return std::ldexp(1.0, std::clamp(exponent, -largest_exponent, largest_exponent)); }

}  // namespace

double power_to_one(double x) { return x > 0 && std::isfinite(x) ? power(-std::ilogb(x)) : 1; }

double power_to_root_of_one(double x) {
    if (!(x > 0) || !std::isfinite(x)) return 1;
    const int exponent = std::ilogb(x);
    return power(-(exponent >= 0 ? exponent / 2 : -((1 - exponent) / 2)));
}

bool are_alike(const std::vector<double>& numbers) {
    constexpr double alike = 16;
    double least = 0, most = 0;
    for (const double x : numbers) {
        if (x == 0) continue;
        least = least == 0 ? x : std::min(least, x);
        most = std::max(most, x);
    }
    return most <= alike * least || most == 0;
}

}  // namespace basalt::detail
