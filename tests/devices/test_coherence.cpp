// Random programs on the cores and up to four emulated devices, and serially: data move where tasks need them, device
// memory is short, copies and kernels take their time, and every element and every value read is compared.
#include <chrono>
#include <cstdint>
#include <string>

#include "tests/common/catch.hpp"
#include "tests/runtime/random_graph/seeds.hpp"

using namespace basalt_tests;

namespace {

constexpr std::uint64_t block = 20;

std::string text_of(const basalt::Config& config) {
    const basalt::Emulation& emulation = config.emulation;
    return config.scheduler + ", places by " + config.policy + ", " + std::to_string(config.workers) +
           " workers, window " + std::to_string(config.window) + ", " + std::to_string(emulation.gpus) +
           " devices of " + std::to_string(config.gpu_memory) + " bytes and " + std::to_string(config.gpu_streams) +
           " streams" + (emulation.peer_access ? "" : " that do not reach each other") + ", delays up to " +
           std::to_string(emulation.longest_delay.count() / 1000) + " us";
}

GraphSetting setting_of(std::uint64_t number) {
    using std::chrono::microseconds;
    Random random(number);
    basalt::Config config;
    config.workers = random.pick(std::array{1, 2, 4});
    config.scheduler = random.pick(basalt::scheduler_names());
    config.window = random.pick(std::array<std::size_t, 5>{4096, 64, 7, 2, 1});
    config.bind = random.one_in(2);
    config.emulation.gpus = static_cast<int>(1 + number % 4);
    config.emulation.peer_access = !random.one_in(3);
    config.emulation.longest_delay =
        random.pick(std::array{microseconds(0), microseconds(0), microseconds(10), microseconds(100)});
    config.emulation.seed = number;
    // from room for everything down to room for one datum of middling size
    config.gpu_memory = random.pick(std::array<std::size_t, 5>{1 << 20, 32768, 12288, 6144, 2560});
    config.emulation.memory = config.gpu_memory;
    config.gpu_streams = random.pick(std::array{1, 2, 3, 8});
    config.policy = random.pick(std::array{"gpu", "gpu", "heft", "owner"});
    return {config, {config.emulation.gpus, config.gpu_memory}, text_of(config)};
}

SeedRunner runner() { return {"BASALT_COHERENCE_SEED", block, 200, setting_of}; }

}  // namespace

TEST_CASE("random graphs on several devices give what they give serially") { runner().run(1, 2000); }

TEST_CASE("random graphs on several devices give what they give serially, under a sanitizer", "[sanitize]") {
    runner().run(1, 2000, [](std::uint64_t seed) { return seed % block < 3; });
}

TEST_CASE("half a million random graphs on several devices give what they give serially", "[.soak]") {
    runner().run(2001, 502'000);
}
