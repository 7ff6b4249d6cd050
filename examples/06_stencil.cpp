// A stencil with a halo: heat spreads on a square grid, strip by strip. A task reads its strip and one grid row more on
// either side, the halo. A strip's next step starts as soon as its neighbours are done; there is no barrier between
// steps.
#include <basalt/basalt.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <numbers>

using basalt::Index;
using basalt::View;

namespace {

constexpr Index n = 512, strip = 64, steps = 100;  // grid points a side, rows of a strip
constexpr double rate = 0.2;                       // of exchange with each neighbour; stable up to 1/4

/// One mode of the plate, which keeps its shape and fades.
double mode(Index row, Index col) {
    const double h = std::numbers::pi / (n - 1);
    return std::sin(h * static_cast<double>(row)) * std::sin(h * static_cast<double>(col));
}

/// Grid rows from `begin` on: new = old + rate * (sum of the four neighbours - 4 old). The edge of the plate stays 0.
/// `old` starts at grid row `first`.
void heat(Index begin, Index first, View<const double> old, View<double> next) {
    for (Index i = 0; i < next.size() / n; ++i) {
        if (begin + i == 0 || begin + i == n - 1) continue;
        const double* here = &old[(begin + i - first) * n];
        for (Index j = 1; j < n - 1; ++j) {
            next[i * n + j] = here[j] + rate * (here[j - n] + here[j + n] + here[j - 1] + here[j + 1] - 4 * here[j]);
        }
    }
}

}  // namespace

int main() try {
    basalt::Runtime rt;
    basalt::Array<double> grids[] = {{rt, n * n}, {rt, n * n}};  // row by row; zeros
    rt.submit({.name = "start"}, write(grids[0]), [](View<double> grid) {
        for (Index i = 0; i < n * n; ++i) grid[i] = mode(i / n, i % n);
    });
    for (Index step = 0; step < steps; ++step) {
        const basalt::Array<double>&old = grids[step % 2], &next = grids[(step + 1) % 2];
        for (Index begin = 0; begin < n; begin += strip) {
            const Index first = std::max<Index>(begin - 1, 0), last = std::min(begin + strip + 1, n);
            rt.submit({.name = "heat"}, read(old.rows(first * n, last * n)),
                      readwrite(next.rows(begin * n, (begin + strip) * n)),
                      [begin, first](View<const double> old, View<double> next) { heat(begin, first, old, next); });
        }
    }
    rt.wait();

    // Each step multiplies the mode by 1 - 8 rate sin^2(h / 2), but for rounding.
    const double half = std::sin(std::numbers::pi / (n - 1) / 2), fading = std::pow(1 - 8 * rate * half * half, steps);
    const View<double> result = grids[steps % 2].host_view();
    double error = 0;
    for (Index i = 0; i < n * n; ++i) error = std::max(error, std::abs(result[i] - fading * mode(i / n, i % n)));
    std::printf("after %d steps, the error of the mode is %.1e\n", static_cast<int>(steps), error);
    return error < 1e-12 ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
