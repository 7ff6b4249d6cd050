// A coroutine as a task: Newton's iteration for the square roots of many numbers. How many steps it takes is known only
// from the results of the steps.
//
// co_await of a task does not block a thread: the coroutine is resumed on a worker when the task is done. Tasks that it
// submits are its children, and use parts of its data.
#include <basalt/basalt.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

using basalt::Future;
using basalt::Index;
using basalt::View;

int main(int argc, char** argv) try {
    const Index size = argc > 1 ? std::atoi(argv[1]) : 400'000;
    constexpr Index blocks = 8;

    basalt::Runtime rt;
    basalt::Array<double> x(rt, size, "x");
    rt.submit({.name = "begin"}, write(x), [](View<double> x) {
        for (Index i = 0; i < x.size(); ++i) x[i] = double(i + 1);
    });

    const auto newton = [&rt, &x, size](View<double>) -> basalt::Routine<int> {
        for (int step = 1;; ++step) {
            std::vector<Future<double>> changes;
            for (Index b = 0; b < blocks; ++b) {  // these run at the same time
                const Index first = size * b / blocks;
                changes.push_back(rt.submit({.name = "step", .step = step},
                                            readwrite(x.rows(first, size * (b + 1) / blocks)), [first](View<double> x) {
                                                double change = 0;
                                                for (Index i = 0; i < x.size(); ++i) {
                                                    const double next = (x[i] + double(first + i + 1) / x[i]) / 2;
                                                    change = std::max(change, std::abs(next - x[i]) / next);
                                                    x[i] = next;
                                                }
                                                return change;
                                            }));
            }
            double change = 0;
            for (Future<double>& one : changes) change = std::max(change, co_await one);
            if (change < 1e-15) co_return step;
        }
    };
    Future<int> steps = rt.submit({.name = "newton"}, readwrite(x), newton);

    std::printf("%d steps\n", steps.get());
    const View<double> roots = x.host_view();
    double error = 0;
    for (Index i = 0; i < size; ++i) error = std::max(error, std::abs(roots[i] - std::sqrt(double(i + 1))));
    std::printf("largest error %.1e\n", error);
    rt.wait();
    return error < 1e-10 ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
