// Reductions of a large array, of which each task reduces a part. With reduce() the tasks add to private copies at the
// same time, and the runtime combines the copies: counts in any order, sums in an order that does not depend on the
// number of threads, so that rounding errors do not either. With commute() the tasks update one result, one task at a
// time, in the order in which they get ready: this suits short updates of a large result, of which copies would be
// costly.
#include <basalt/basalt.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>

using basalt::Index;
using basalt::View;

int main() try {
    constexpr Index n = 1 << 22, parts = 64, part = n / parts, bins = 10;

    basalt::Runtime rt;
    basalt::Array<double> x(rt, n);
    basalt::Array<Index> histogram(rt, bins);  // zeros, as all arrays
    basalt::Array<double> sum(rt, 1);
    basalt::Array<double> extremes(rt, 2);

    rt.submit({.name = "begin"}, write(extremes), [](View<double> extremes) { extremes[0] = extremes[1] = 0.5; });
    for (Index p = 0; p < parts; ++p) {
        const auto values = x.rows(p * part, (p + 1) * part);
        rt.submit({.name = "fill"}, write(values), [p](View<double> x) {
            for (Index i = 0; i < part; ++i)
                x[i] = std::fmod(0.6180339887498949 * static_cast<double>(p * part + i), 1);
        });
        rt.submit({.name = "count"}, read(values), reduce(histogram, 0, std::plus<>()),
                  [](View<const double> x, View<Index> counts) {
                      for (Index i = 0; i < part; ++i) ++counts[static_cast<Index>(x[i] * bins)];
                  });
        rt.submit({.name = "sum"}, read(values), reduce(sum, 0, std::plus<>(), basalt::Order::deterministic),
                  [](View<const double> x, View<double> sum) {
                      for (Index i = 0; i < part; ++i) sum[0] += x[i];
                  });
        rt.submit({.name = "extremes"}, read(values), commute(extremes),
                  [](View<const double> x, View<double> extremes) {
                      for (Index i = 0; i < part; ++i) {
                          extremes[0] = std::min(extremes[0], x[i]);
                          extremes[1] = std::max(extremes[1], x[i]);
                      }
                  });
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
    const double mean = sum.host_view()[0] / n;
    const View<double> ends = extremes.host_view();
    std::printf("%lld numbers from %.6f to %.6f in %d bins, mean %.6f\n", static_cast<long long>(counted), ends[0],
                ends[1], static_cast<int>(bins), mean);
    const bool spread = ends[0] < 1e-6 && ends[1] > 1 - 1e-6;
    return counted == n && even && spread && std::abs(mean - 0.5) < 1e-6 ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
