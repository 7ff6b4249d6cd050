#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/scaling.hpp"

namespace basalt::on_stream {

void run_on_cpu(LargestInColumns, View<const float> a, View<float> largest) {
    assert(largest.rows() == a.cols());
    for (Index j = 0; j < a.cols(); ++j) {
        largest[j] = 0;
        for (Index i = 0; i < a.rows(); ++i) {
            if (std::isfinite(a(i, j))) largest[j] = std::max(largest[j], std::abs(a(i, j)));
        }
    }
}

void run_on_cpu(ScaleColumns, View<float> a, Index diagonal, View<const float> largest, ColumnScaling scaling) {
    assert(largest.rows() == a.cols());
    for (Index j = 0; j < a.cols(); ++j) {
        const int exponent = column_exponent(largest[j]);
        if (exponent == 0) continue;
        const bool all = scaling == ColumnScaling::to_one;
        const Index end = all ? a.rows() : std::clamp<Index>(j - diagonal + 1, 0, a.rows());
        for (Index i = 0; i < end; ++i) a(i, j) = times_power_of_two(a(i, j), all ? -exponent : exponent);
    }
}

template <>
const LargestInColumns::Cpu Code<LargestInColumns>::cpu = cpu_code<LargestInColumns>;
template <>
const ScaleColumns::Cpu Code<ScaleColumns>::cpu = cpu_code<ScaleColumns>;

}  // namespace basalt::on_stream
