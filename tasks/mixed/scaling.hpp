#pragma once

#include <vector>

namespace basalt::detail {

/// The power of two p with p x in [1, 2), as far as p is a normal number; 1 for 0.
double power_to_one(double x);
/// The power of two p with p sqrt(x) in [1/2, 2), in the same way.
double power_to_root_of_one(double x);

/// Whether the numbers, apart from zeros, are within a factor of 16.
bool are_alike(const std::vector<double>& numbers);

}  // namespace basalt::detail
