// A task on several arrays at once: the number of blocks is known only at run time, so the sum takes a range of them.
//
// read(blocks) stands for a read access to each array of the vector; the kernel gets their views in the same order,
// next to the view of an array of its own.
#include <basalt/basalt.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

using basalt::Index;
using basalt::View;
using basalt::Views;

int main(int argc, char** argv) try {
    const int count = argc > 1 ? std::atoi(argv[1]) : 10;
    constexpr Index size = 100'000;

    basalt::Runtime rt;
    std::vector<basalt::Array<double>> blocks;
    for (int b = 0; b < count; ++b) blocks.emplace_back(rt, size);
    basalt::Array<double> sum(rt, 1, "sum");

    for (int b = 0; b < count; ++b) {  // these may run at the same time
        rt.submit({.name = "fill"}, write(blocks[b]), [b](View<double> block) {
            for (Index i = 0; i < block.size(); ++i) block[i] = b;
        });
    }
    rt.submit({.name = "sum"}, read(blocks), write(sum), [](Views<const double> blocks, View<double> sum) {
        sum[0] = 0;
        for (const View<const double>& block : blocks) {
            for (Index i = 0; i < block.size(); ++i) sum[0] += block[i];
        }
    });

    const double result = sum.host_view()[0];
    std::printf("the sum of %d blocks is %.0f\n", count, result);
    return result == 0.5 * count * (count - 1) * size ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
