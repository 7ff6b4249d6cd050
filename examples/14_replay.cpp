// A graph that is recorded once and runs many times: Jacobi's method on strips of a rod, from one array to another and
// back.
//
// The tasks are submitted as ever, but inside of a Recording, which keeps them instead. Each run costs a fraction of
// submitting them again, and bind() exchanges the two arrays without recording anything twice.
#include <basalt/basalt.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>
#include <vector>

using basalt::Index;
using basalt::View;
using basalt::Views;
using Strips = std::vector<basalt::Array<double>>;

/// One step of the heat equation on a strip; the neighbours are the strip's own ends at the ends of the rod.
void heat(Views<const double> from, View<double> to) {
    const View<const double> left = from[0], here = from[1], right = from[2];
    const Index n = here.size();
    for (Index i = 0; i < n; ++i) {
        const double before = i > 0 ? here[i - 1] : left[left.size() - 1];
        const double behind = i + 1 < n ? here[i + 1] : right[0];
        to[i] = here[i] + 0.25 * (before - 2 * here[i] + behind);
    }
}

int main(int argc, char** argv) try {
    const int steps = argc > 1 ? std::atoi(argv[1]) : 200;
    constexpr std::size_t strips = 16;
    constexpr Index size = 1000;

    basalt::Runtime rt;
    Strips one, two;
    for (std::size_t s = 0; s < strips; ++s) {
        one.emplace_back(rt, size);
        two.emplace_back(rt, size);
    }
    one[strips / 2].host_overwrite()[0] = 1000;  // the rest is 0

    basalt::Recording step(rt, [&] {  // runs nothing
        for (std::size_t s = 0; s < strips; ++s) {
            const std::vector around{one[s > 0 ? s - 1 : s].region(), one[s].region(),
                                     one[s + 1 < strips ? s + 1 : s].region()};
            rt.submit({.name = "heat"}, read(around), write(two[s]), heat);
        }
    });

    for (int i = 0; i < steps; ++i) {
        const bool forth = i % 2 == 0;
        step.bind(one, forth ? one : two);
        step.bind(two, forth ? two : one);
        step.run();  // returns at once; the next run waits for this one
    }
    rt.wait();

    double sum = 0;
    for (const auto& strip : steps % 2 == 0 ? one : two) {
        const View<double> x = strip.host_view();
        for (Index i = 0; i < size; ++i) sum += x[i];
    }
    std::printf("%zu tasks, %d runs: the rod holds %.6f of 1000\n", step.size(), steps, sum);
    return std::abs(sum - 1000) < 1e-6 ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
