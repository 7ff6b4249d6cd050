// Random programs that are recorded and run several times, also on other data, and serially: every element and every
// value read is compared.
#include <chrono>
#include <cstdint>

#include "tests/common/catch.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/runtime/random_graph/recorded_check.hpp"
#include "tests/runtime/random_graph/seeds.hpp"

using namespace basalt_tests;

namespace {

constexpr std::uint64_t block = 100;

GraphSetting setting_of(std::uint64_t number) {
    const std::vector<Setting> settings = every_setting();
    const Setting& choice = settings[number % settings.size()];
    GraphSetting setting{choice.config(), {}, choice.text()};
    if (number % 4 == 3) setting.config.window = 1;
    setting.config.bind = number % 3 != 0;
    return setting;
}

GraphSetting setting_on_devices(std::uint64_t number) {
    GraphSetting setting{small_machine(1 + static_cast<int>(number % 2)), {}, "emulated GPUs"};
    setting.devices = {setting.config.emulation.gpus, std::size_t{1} << 20};
    return setting;
}

using Runner = SeedRunnerOf<RecordedCheck>;

Runner runner() { return {"BASALT_RECORDING_SEED", block, 500, setting_of}; }
Runner runner_on_devices() { return {"BASALT_RECORDING_ON_DEVICES_SEED", block, 100, setting_on_devices}; }

}  // namespace

TEST_CASE("two thousand recorded graphs give what they give serially") { runner().run(1, 2'000); }

TEST_CASE("recorded graphs give what they give serially, under a sanitizer", "[sanitize]") {
    runner().run(1, 4'000, [](std::uint64_t seed) { return seed % block < 6; });
}

TEST_CASE("graphs with tasks on GPUs that are recorded give what they give serially", "[sanitize]") {
    runner_on_devices().run(1, 150);
}

TEST_CASE("two hundred thousand recorded graphs give what they give serially", "[.soak]") {
    runner().run(2'001, 200'000);
}
