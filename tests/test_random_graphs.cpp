// Random programs through the runtime and serially: every element, every value read, every error compared.
#include <cstdlib>
#include <memory>
#include <string>

#include "tests/catch.hpp"
#include "tests/random_graph/check.hpp"
#include "tests/runtime_settings.hpp"
#include "tests/watchdog.hpp"

using namespace basalt_tests;

namespace {

// A failing test prints its seed. BASALT_GRAPH_SEED=<seed> test_random_graphs reruns that graph alone, many
// times.
constexpr const char* seed_variable = "BASALT_GRAPH_SEED";
constexpr int reruns = 500;

struct RuntimeChoice {
    Setting setting;
    std::size_t window;
};

/// Seeds follow each other through the choices in blocks, so that a seed alone says how its graph is run.
constexpr std::uint64_t block = 125;

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

/// The runtime that a seed's graph runs on, kept while seeds agree on it: starting threads takes longer than
/// a graph.
class RuntimeOfSeed {
  public:
    basalt::Runtime& at(std::uint64_t seed) {
        if (!runtime_ || seed / block != current_) {
            current_ = seed / block;
            const RuntimeChoice& choice = choices_[current_ % choices_.size()];
            basalt::Config config = choice.setting.config();
            config.window = choice.window;
            config.bind = current_ % 3 != 0;
            runtime_.reset();
            runtime_ = std::make_unique<basalt::Runtime>(config);
            text_ = choice.setting.text() + ", window " + std::to_string(choice.window);
        }
        return *runtime_;
    }
    const std::string& text() const { return text_; }

  private:
    const std::vector<RuntimeChoice> choices_ = every_choice();
    std::uint64_t current_ = 0;
    std::unique_ptr<basalt::Runtime> runtime_;
    std::string text_;
};

void check_graph(std::uint64_t seed, RuntimeOfSeed& runtimes, Watchdog& watchdog) {
    basalt::Runtime& runtime = runtimes.at(seed);
    const std::string label =
        std::string(seed_variable) + "=" + std::to_string(seed) + " (" + runtimes.text() + ")";
    watchdog.restart(label);
    const std::string complaint = GraphCheck(runtime, seed).run();
    if (!complaint.empty()) FAIL(label + ": " + complaint);
}

/// The graphs of the seeds from `first` to `last` that `wanted` wants.
template <class Wanted>
void check_graphs(std::uint64_t first, std::uint64_t last, Wanted&& wanted) {
    RuntimeOfSeed runtimes;
    Watchdog watchdog;
    if (const char* text = std::getenv(seed_variable)) {
        for (int i = 0; i < reruns; ++i) check_graph(std::strtoull(text, nullptr, 10), runtimes, watchdog);
        return;
    }
    for (std::uint64_t seed = first; seed <= last; ++seed) {
        if (wanted(seed)) check_graph(seed, runtimes, watchdog);
    }
    SUCCEED();
}

bool every_seed(std::uint64_t) {
    return true;
}

}  // namespace

TEST_CASE("ten thousand random graphs give what they give serially") {
    check_graphs(1, 10'000, every_seed);
}

TEST_CASE("random graphs give what they give serially, under a sanitizer", "[sanitize]") {
    check_graphs(1, 10'000, [](std::uint64_t seed) { return seed % block < 4; });
}

TEST_CASE("a million random graphs give what they give serially", "[.soak]") {
    check_graphs(10'001, 1'010'000, every_seed);
}
