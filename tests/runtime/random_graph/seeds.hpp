#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tests/common/catch.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/runtime/random_graph/check.hpp"

namespace basalt_tests {

/// What a random graph runs on.
struct GraphSetting {
    basalt::Config config;
    Devices devices;
    std::string text;
};

/// Runs the graphs of many seeds through `Check`. Seeds follow each other through the settings in blocks, so that a
/// seed alone says how its graph is run, and a runtime is kept for a block: starting threads takes longer than a graph.
///
/// A failing test prints its seed; with the environment variable `variable` set to it, that graph alone is run, many
/// times.
template <class Check>
class SeedRunnerOf {
  public:
    using SettingOfBlock = std::function<GraphSetting(std::uint64_t block)>;

    SeedRunnerOf(const char* variable, std::uint64_t block, int reruns, SettingOfBlock setting)
        : variable_(variable), block_(block), reruns_(reruns), setting_of_(std::move(setting)) {}

    /// The graphs of the seeds from `first` to `last` that `wanted` wants.
    void run(std::uint64_t first, std::uint64_t last, const std::function<bool(std::uint64_t)>& wanted = {}) {
        if (const char* text = std::getenv(variable_)) {
            for (int i = 0; i < reruns_; ++i) check(std::strtoull(text, nullptr, 10));
            return;
        }
        for (std::uint64_t seed = first; seed <= last; ++seed) {
            if (!wanted || wanted(seed)) check(seed);
        }
        SUCCEED();
    }

  private:
    void check(std::uint64_t seed) {
        if (!runtime_ || seed / block_ != current_) {
            current_ = seed / block_;
            setting_ = setting_of_(current_);
            runtime_.reset();
            runtime_ = std::make_unique<basalt::Runtime>(setting_.config);
        }
        const std::string label = std::string(variable_) + "=" + std::to_string(seed) + " (" + setting_.text + ")";
        watchdog_.restart(label);
        const std::string complaint = Check(*runtime_, seed, setting_.devices).run();
        if (!complaint.empty()) FAIL(label + ": " + complaint);
    }

    const char* const variable_;
    const std::uint64_t block_;
    const int reruns_;
    const SettingOfBlock setting_of_;
    std::uint64_t current_ = 0;
    GraphSetting setting_;
    std::unique_ptr<basalt::Runtime> runtime_;
    Watchdog watchdog_;
};
using SeedRunner = SeedRunnerOf<GraphCheck>;

}  // namespace basalt_tests
