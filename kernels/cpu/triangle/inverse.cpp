#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "kernels/cpu/products/gemm.hpp"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/triangle.hpp"
#include "tiles/norms.hpp"

namespace basalt::on_stream {

namespace {

template <class T>
void measure(View<const T> inverse, double* norms) {
    const Index n = inverse.rows();
    std::vector<double> sums(static_cast<std::size_t>(n));
    norms[0] = norms[1] = 0;
    for (Index i = 0; i < n; ++i) {
        const T* const row = &inverse(i, 0);
        for (Index j = 0; j <= i; ++j) {
            const double magnitude = std::abs(static_cast<double>(row[j]));
            norms[0] = max_or_nan(norms[0], magnitude);
            sums[static_cast<std::size_t>(j)] += magnitude;
        }
    }
    for (const double sum : sums) norms[1] = max_or_nan(norms[1], sum);
}

}  // namespace

// Columns j .. j + strip of the inverse are zero above row j: they solve L(j:n, j:n) X = (I 0)^T, which is a
// third of the work of solving for the whole identity.
template <class T>
void run_on_cpu(InvertUnitLower<T>, View<const T> l, View<T> inverse, double* norms) {
    constexpr Index strip = 64;
    const Index n = l.rows();
    assert(l.cols() == n && inverse.rows() == n && inverse.cols() == n);
    for (Index i = 0; i < n; ++i) std::fill_n(&inverse(i, 0), n, T{0});
    for (Index i = 0; i < n; ++i) inverse(i, i) = T{1};
    std::vector<T> packed(static_cast<std::size_t>(packed_size<T>(n, std::min(n, strip))));
    for (Index j = 0; j < n; j += strip) {
        const Index cols = std::min(strip, n - j);
        solve_and_pack<T>(l.block(j, j, n - j, n - j), nullptr, inverse.block(j, j, n - j, cols), packed.data());
    }
    measure<T>(inverse, norms);
}

template <>
const InvertUnitLower<float>::Cpu Code<InvertUnitLower<float>>::cpu = cpu_code<InvertUnitLower<float>>;
template <>
const InvertUnitLower<double>::Cpu Code<InvertUnitLower<double>>::cpu = cpu_code<InvertUnitLower<double>>;

}  // namespace basalt::on_stream
