#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace basalt_tests {

/// Whether two numbers are equal, or both NaN.
template <class T>
bool same_number(T x, T y) {
    return x == y || (std::isnan(x) && std::isnan(y));
}

template <class T>
bool same_numbers(const std::vector<T>& x, const std::vector<T>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), same_number<T>);
}

}  // namespace basalt_tests
