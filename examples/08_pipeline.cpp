// A pipeline: blocks of numbers are drawn, worked on and written, as in a program that reads, compresses and stores.
// Drawing and writing go in order, because each has a state that its tasks pass on. The work between runs in parallel.
#include <basalt/basalt.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <vector>

using basalt::Index;
using basalt::View;

namespace {

constexpr Index blocks = 200, size = 2000;
using Number = std::uint64_t;

void draw(Number& state, View<Number> block) {
    for (Index i = 0; i < size; ++i) block[i] = state = state * 6364136223846793005 + 1442695040888963407;
}

/// Steps of the Collatz sequence from each number to 1.
void work(View<Number> block) {
    for (Index i = 0; i < size; ++i) {
        Number steps = 0;
        for (Number x = block[i] >> 40 | 1; x != 1; x = x % 2 == 0 ? x / 2 : 3 * x + 1) ++steps;
        block[i] = steps;
    }
}

/// A checksum that depends on the order.
void append(Number& checksum, View<const Number> block) {
    for (Index i = 0; i < size; ++i) checksum = (checksum ^ block[i]) * 1099511628211;
}

Number in_one_loop() {
    std::vector<Number> memory(size);
    const View<Number> block(memory.data(), size);
    Number state = 1, checksum = 0;
    for (Index b = 0; b < blocks; ++b) {
        draw(state, block);
        work(block);
        append(checksum, block);
    }
    return checksum;
}

}  // namespace

int main() try {
    basalt::Runtime rt({.window = 64});  // at most 64 tasks in flight, so that memory stays bounded
    // One block is enough: draw() overwrites all of it, so that the runtime gives it fresh memory while the previous
    // one is still in use.
    basalt::Array<Number> state(rt, 1), block(rt, size), checksum(rt, 1);
    rt.submit({.name = "seed"}, write(state), [](View<Number> state) { state[0] = 1; });
    for (Index b = 0; b < blocks; ++b) {
        rt.submit({.name = "draw"}, readwrite(state), write(block),
                  [](View<Number> state, View<Number> block) { draw(state[0], block); });
        rt.submit({.name = "work"}, readwrite(block), work);
        rt.submit({.name = "append"}, read(block), readwrite(checksum),
                  [](View<const Number> block, View<Number> checksum) { append(checksum[0], block); });
    }
    rt.wait();

    const Number result = checksum.host_view()[0], expected = in_one_loop();
    std::printf("the checksum of %d blocks is %016llx; one loop has %016llx\n", static_cast<int>(blocks),
                static_cast<unsigned long long>(result), static_cast<unsigned long long>(expected));
    return result == expected ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
