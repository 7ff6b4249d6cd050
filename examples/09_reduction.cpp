// Two reductions of a large array, after tasks have reduced its parts. Counts are added to one result with commute():
// one task at a time, in the order in which they get ready. Sums are added pair by pair in a tree: the tree has a fixed
// shape, so that rounding errors do not depend on the number of threads.
#include <basalt/basalt.hpp>

#include <cmath>
#include <cstdio>
#include <exception>
#include <vector>

using basalt::Index;
using basalt::View;

int main() try {
    constexpr Index n = 1 << 22, parts = 64, part = n / parts, bins = 10;

    basalt::Runtime rt;
    basalt::Array<double> x(rt, n);
    basalt::Array<Index> histogram(rt, bins);  // zeros, as all arrays
    std::vector<basalt::Array<Index>> counts;
    std::vector<basalt::Array<double>> sums;

    for (Index p = 0; p < parts; ++p) {
        const auto values = x.rows(p * part, (p + 1) * part);
        rt.submit({.name = "fill"}, write(values), [p](View<double> x) {
            for (Index i = 0; i < part; ++i)
                x[i] = std::fmod(0.6180339887498949 * static_cast<double>(p * part + i), 1);
        });
        counts.emplace_back(rt, bins);
        sums.emplace_back(rt, 1);
        rt.submit({.name = "reduce"}, read(values), readwrite(counts.back()), readwrite(sums.back()),
                  [](View<const double> x, View<Index> counts, View<double> sum) {
                      for (Index i = 0; i < part; ++i) {
                          ++counts[static_cast<Index>(x[i] * bins)];
                          sum[0] += x[i];
                      }
                  });
        rt.submit({.name = "add counts"}, read(counts.back()), commute(histogram),
                  [](View<const Index> counts, View<Index> histogram) {
                      for (Index bin = 0; bin < bins; ++bin) histogram[bin] += counts[bin];
                  });
    }
    for (Index distance = 1; distance < parts; distance *= 2) {
        for (Index p = 0; p + distance < parts; p += 2 * distance) {
            rt.submit({.name = "add sums"}, read(sums[p + distance]), readwrite(sums[p]),
                      [](View<const double> other, View<double> sum) { sum[0] += other[0]; });
        }
    }
    rt.wait();

    // Multiples of the golden ratio fill [0, 1) evenly: a tenth of them in each bin, one half on average.
    const View<Index> result = histogram.host_view();
    Index counted = 0;
    bool even = true;
    for (Index bin = 0; bin < bins; ++bin) {
        counted += result[bin];
        even = even && std::abs(static_cast<double>(result[bin]) - n / 10.0) < 20;
    }
    const double mean = sums[0].host_view()[0] / n;
    std::printf("%lld numbers in %d bins, mean %.6f\n", static_cast<long long>(counted), static_cast<int>(bins), mean);
    return counted == n && even && std::abs(mean - 0.5) < 1e-6 ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
