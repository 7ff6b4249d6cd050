// Waiting for one task, values of tasks, order without data, and loops.
//
// submit() returns a TaskHandle, or a Future<T> where the kernel returns a T. after() orders tasks that share no data,
// and a Token stands for something that the runtime does not manage, here a log.
#include <basalt/basalt.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

using basalt::Future;
using basalt::Index;
using basalt::TaskHandle;
using basalt::View;

int main(int argc, char** argv) try {
    const Index size = argc > 1 ? std::atoi(argv[1]) : 1'000'000;

    basalt::Runtime rt;
    basalt::Array<double> x(rt, size, "x");
    const basalt::Token log = rt.token("log");
    std::vector<std::string> lines;

    // a loop that the workers share, as a task
    const TaskHandle filled = rt.submit_for(
        {.name = "fill"}, {0, size}, 0, [](Index i, View<double> x) { x[i] = 1.0 / (1.0 + double(i)); }, write(x));
    // the kernel returns a value: a future delivers it
    Future<double> sum = rt.submit({.name = "sum"}, read(x), [](View<const double> x) {
        double sum = 0;
        for (Index i = 0; i < x.size(); ++i) sum += x[i];
        return sum;
    });
    // tasks that write to the log do so one after another
    rt.submit({.name = "note"}, write(log), [&] { lines.emplace_back("the loop is under way"); });
    const TaskHandle noted =
        rt.submit({.name = "note"}, after(filled), readwrite(log),  // not before the loop has ended
                  [&] { lines.emplace_back("x is filled"); });
    // a continuation gets the value
    Future<double> gamma = sum.then({.name = "gamma"}, [size](double sum) { return sum - std::log(double(size)); });

    noted.wait();  // for this task alone
    for (const std::string& line : lines) std::printf("%s\n", line.c_str());
    const double value = gamma.get();
    std::printf("Euler's constant is about %.6f\n", value);

    // scratch memory for each worker, in a loop that waits
    std::vector<double> largest(static_cast<std::size_t>(rt.workers()));
    rt.parallel_for(
        {0, size}, 10'000,
        [&](basalt::IndexRange chunk, View<const double> x) {
            double& mine = largest[static_cast<std::size_t>(basalt::worker())];
            for (Index i = chunk.begin; i < chunk.end; ++i) mine = std::max(mine, x[i]);
        },
        read(x));
    double all = 0;
    for (const double one : largest) all = std::max(all, one);
    std::printf("the largest element is %.1f\n", all);
    rt.wait();
    return lines.size() == 2 && all == 1.0 && std::abs(value - 0.5772157) < 1.0 / double(size) ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
