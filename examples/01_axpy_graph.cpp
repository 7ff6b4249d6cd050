// A task graph of your own: y = 2 x + y, block by block, then the sum of y.
//
// The loop below reads like serial code. Each submit() says which data its task reads and writes; from that
// the runtime finds what may run at the same time: here, all blocks, and the sum when they are done.
#include <basalt/basalt.hpp>

#include <cstdio>
#include <exception>

using basalt::Index;
using basalt::View;

int main() try {
    constexpr Index n = 1'000'000, block = 100'000;

    basalt::Runtime rt;                                    // all cores
    basalt::Array<double> x(rt, n), y(rt, n), sum(rt, 1);  // zeros

    rt.submit({.name = "fill"}, write(x), write(y), [](View<double> x, View<double> y) {
        for (Index i = 0; i < x.size(); ++i) x[i] = 1, y[i] = 3;
    });
    for (Index begin = 0; begin < n; begin += block) {
        rt.submit({.name = "axpy"}, read(x.rows(begin, begin + block)), readwrite(y.rows(begin, begin + block)),
                  [](View<const double> x, View<double> y) {
                      for (Index i = 0; i < x.size(); ++i) y[i] += 2 * x[i];
                  });
    }
    rt.submit({.name = "sum"}, read(y), readwrite(sum), [](View<const double> y, View<double> sum) {
        for (Index i = 0; i < y.size(); ++i) sum[0] += y[i];
    });

    rt.wait();  // an exception thrown in a task would come out here
    const double result = sum.host_view()[0];
    std::printf("the sum is %.0f\n", result);
    return result == 5.0 * n ? 0 : 1;
} catch (const std::exception& error) {  // what the library throws says what failed and where
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
