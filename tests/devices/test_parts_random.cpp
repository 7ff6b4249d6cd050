// Random programs on blocks of arrays, on cores and up to three emulated GPUs, and serially.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "tests/common/catch.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/devices/device_tasks.hpp"
#include "tests/devices/random_parts.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

constexpr std::uint64_t block = 10;  // programs that one runtime runs

DeviceSetting setting_of(std::uint64_t number) {
    using std::chrono::microseconds;
    Random random(number);
    DeviceSetting setting;
    setting.gpus = static_cast<int>(number % 4);
    setting.workers = random.between(1, 3);
    // from room for everything down to room for what one task uses
    setting.gpu_memory = random.pick(std::array<std::size_t, 3>{1 << 20, 16'384, 9 * 512});
    setting.gpu_streams = random.pick(std::array{1, 3});
    setting.emulation.memory = setting.gpu_memory;
    setting.emulation.peer_access = !random.one_in(3);
    setting.emulation.longest_delay = random.pick(std::array{microseconds(0), microseconds(0), microseconds(50)});
    setting.emulation.seed = number;
    return setting;
}

/// The programs of the seeds from `first` to `last`, or the one of BASALT_PARTS_SEED.
void run(std::uint64_t first, std::uint64_t last, bool failures) {
    const char* const only = std::getenv("BASALT_PARTS_SEED");
    if (only != nullptr) first = last = std::strtoull(only, nullptr, 10);
    Watchdog watchdog;
    std::unique_ptr<Runtime> runtime;
    for (std::uint64_t seed = first; seed <= last; ++seed) {
        const std::string label = "BASALT_PARTS_SEED=" + std::to_string(seed);
        watchdog.restart(label);
        if (!runtime || failures || seed % block == 0) {
            DeviceSetting setting = setting_of(seed / block);
            if (failures && seed % 3 == 0) setting.emulation.failing_copy = 1 + seed % 29;
            setting.emulation.failures_are_sticky = seed % 2 == 0;
            runtime.reset();
            runtime = setting.runtime();
        }
        const std::string complaint = PartsProgram(*runtime, seed, {.failures = failures}).run(60);
        if (!complaint.empty()) FAIL(label + ": " + complaint);
        if (failures) {  // logs what no wait() has seen
            try {
                runtime->wait();
            } catch (const Error&) {
            }
        }
    }
    SUCCEED();
}

}  // namespace

TEST_CASE("random programs on blocks of arrays give what they give serially") { run(1, 200, false); }

TEST_CASE("random programs on blocks of arrays give what they give serially, under a sanitizer", "[sanitize]") {
    run(1, 100, false);
}

TEST_CASE("where tasks and copies fail, blocks have what they have serially, or are known to have nothing") {
    run(1, 100, true);
}

TEST_CASE("where tasks and copies fail, blocks are right or known to have nothing, under a sanitizer", "[sanitize]") {
    run(1, 40, true);
}

TEST_CASE("a hundred thousand random programs on blocks give what they give serially", "[.soak]") {
    run(1000, 100'000, false);
    run(1000, 20'000, true);
}
