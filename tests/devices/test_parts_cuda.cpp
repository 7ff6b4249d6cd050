// Random programs on blocks of arrays, on cores and real GPUs, and serially.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "tests/common/catch.hpp"
#include "tests/common/real_gpus.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/devices/random_parts.hpp"

using namespace basalt;
using namespace basalt_tests;

TEST_CASE("random programs on blocks of arrays give on real GPUs what they give serially") {
    if (gpus_here() == 0) SKIP(no_gpu);
    constexpr std::uint64_t programs = 300, programs_of_a_runtime = 20;
    const char* const only = std::getenv("BASALT_PARTS_SEED");
    const std::uint64_t first = only != nullptr ? std::strtoull(only, nullptr, 10) : 1;
    const std::uint64_t last = only != nullptr ? first : programs;
    Watchdog watchdog;
    std::unique_ptr<Runtime> runtime;
    for (std::uint64_t seed = first; seed <= last; ++seed) {
        const std::string label = "BASALT_PARTS_SEED=" + std::to_string(seed);
        watchdog.restart(label);
        if (!runtime || seed % programs_of_a_runtime == 0) {
            Random random(seed / programs_of_a_runtime);
            Config config;
            config.workers = random.between(1, 3);
            config.gpus = gpus_here();
            // from room for everything down to room for what one task uses
            config.gpu_memory = random.pick(std::array<std::size_t, 3>{1 << 20, 16'384, 9 * 512});
            config.gpu_streams = random.pick(std::array{1, 3});
            runtime.reset();
            runtime = std::make_unique<Runtime>(config);
        }
        const std::string complaint = PartsProgram(*runtime, seed, {.on_gpus = launch_parts_work}).run(60);
        if (!complaint.empty()) FAIL(label + ": " + complaint);
    }
    SUCCEED();
}
