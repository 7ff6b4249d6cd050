// Random programs through the runtime and serially: every element, every value read, every error compared.
#include <cstdint>
#include <string>
#include <vector>

#include "tests/common/catch.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/runtime/random_graph/seeds.hpp"

using namespace basalt_tests;

namespace {

constexpr std::uint64_t block = 125;

struct RuntimeChoice {
    Setting setting;
    std::size_t window;
};

std::vector<RuntimeChoice> every_choice() {
    std::vector<RuntimeChoice> choices;
    for (const Setting& setting : every_setting()) {
        for (const std::size_t window : {4096, 64, 7, 2, 1}) {
            // gangs of eight threads take their time on a machine with two cores: not with every window
            if (setting.workers < 8 || window == 64 || window == 1) choices.push_back({setting, window});
        }
    }
    return choices;
}

GraphSetting setting_of(std::uint64_t number) {
    static const std::vector<RuntimeChoice> choices = every_choice();
    const RuntimeChoice& choice = choices[number % choices.size()];
    GraphSetting setting{
        choice.setting.config(), {}, choice.setting.text() + ", window " + std::to_string(choice.window)};
    setting.config.window = choice.window;
    setting.config.bind = number % 3 != 0;
    return setting;
}

SeedRunner runner() { return {"BASALT_GRAPH_SEED", block, 500, setting_of}; }

}  // namespace

TEST_CASE("ten thousand random graphs give what they give serially") { runner().run(1, 10'000); }

TEST_CASE("random graphs give what they give serially, under a sanitizer", "[sanitize]") {
    runner().run(1, 10'000, [](std::uint64_t seed) { return seed % block < 4; });
}

TEST_CASE("a million random graphs give what they give serially", "[.soak]") { runner().run(10'001, 1'010'000); }
