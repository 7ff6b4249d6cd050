// What the environment asks of a runtime whose program leaves the choice to it.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include <spdlog/spdlog.h>
#include <unistd.h>

#include "basalt/run_models.hpp"
#include "basalt/runtime.hpp"
#include "basalt/tuning.hpp"
#include "base/byte_size.hpp"

namespace basalt {

namespace {

constexpr std::string_view prefix = "BASALT_";
constexpr int all_gpus = -1;  // as a value of BASALT_GPUS

// Those of the program `basalt` too: it runs on this library and they are no mistake in its environment.
constexpr std::array<std::string_view, 19> known_variables{
    "BASALT_WORKERS",       "BASALT_SCHEDULER", "BASALT_WINDOW", "BASALT_BIND",          "BASALT_GPUS",
    "BASALT_EMULATED_GPUS", "BASALT_GPU_MEM",   "BASALT_DATA",   "BASALT_MODE",          "BASALT_NB",
    "BASALT_TILE",          "BASALT_LOOKAHEAD", "BASALT_TRACE",  "BASALT_PANEL_THREADS", "BASALT_JSON",
    "BASALT_VERBOSE",       "BASALT_TUNING",    "BASALT_MODELS", "BASALT_GPU_STREAMS"};

void warn(std::string_view name, std::string_view value, std::string_view allowed) {
    spdlog::warn("basalt: {} = '{}' is ignored; allowed: {}", name, value, allowed);
}

/// The variable's value within [low, high], or `otherwise`, with a warning when what is there is not a number in it.
template <class Number>
Number number_from(const char* name, Number low, Number high, Number otherwise) {
    const char* text = std::getenv(name);
    if (text == nullptr) return otherwise;
    const std::string_view view(text);
    Number number{};
    const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), number);
    if (error == std::errc{} && end == view.data() + view.size() && low <= number && number <= high) return number;
    warn(name, view, std::to_string(low) + " to " + std::to_string(high));
    return otherwise;
}

std::size_t byte_size_from(const char* name, std::size_t otherwise) {
    const char* text = std::getenv(name);
    if (text == nullptr) return otherwise;
    if (const auto bytes = parse_byte_size(text)) return *bytes;
    warn(name, text, "bytes, with K, M, G or T after them or not, e.g. 512M");
    return otherwise;
}

void warn_about_unknown_variables() {
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view line(*entry);
        const std::string_view name = line.substr(0, line.find('='));
        if (name.substr(0, prefix.size()) != prefix) continue;
        if (std::find(known_variables.begin(), known_variables.end(), name) != known_variables.end()) continue;
        std::string all;
        for (const std::string_view known : known_variables) all += (all.empty() ? "" : ", ") + std::string(known);
        spdlog::warn("basalt: {} in the environment is no such setting; there are: {}", name, all);
    }
}

}  // namespace

Config Config::from_environment() {
    warn_about_unknown_variables();
    Config config;
    config.workers = number_from<int>("BASALT_WORKERS", 0, most_workers, config.workers);
    config.window = number_from<std::size_t>("BASALT_WINDOW", 0, most_window, config.window);
    config.bind = number_from<int>("BASALT_BIND", 0, 1, config.bind ? 1 : 0) != 0;
    const int gpus = number_from<int>("BASALT_GPUS", all_gpus, most_gpus, config.gpus.value_or(all_gpus));
    if (gpus != all_gpus) config.gpus = gpus;
    config.emulation.gpus = number_from<int>("BASALT_EMULATED_GPUS", 0, most_gpus, config.emulation.gpus);
    config.gpu_memory = byte_size_from("BASALT_GPU_MEM", config.gpu_memory);
    config.gpu_streams = number_from<int>("BASALT_GPU_STREAMS", 1, most_gpu_streams, config.gpu_streams);
    if (const char* file = std::getenv("BASALT_TUNING"); file != nullptr && *file != '\0') {
        try {
            config.tuning = std::make_shared<const TuningTables>(read_tuning_file(file));
        } catch (const UsageError& error) {
            spdlog::warn("basalt: BASALT_TUNING is ignored: {}", error.what());
        }
    }
    if (const char* models = std::getenv("BASALT_MODELS")) {
        const std::string_view file(models);
        config.models = file == "auto" ? RunModels::default_path() : file == "none" ? std::string() : models;
    }
    if (const char* name = std::getenv("BASALT_SCHEDULER")) {
        const auto& names = scheduler_names();
        if (std::find(names.begin(), names.end(), name) != names.end()) {
            config.scheduler = name;
        } else {
            std::string all;
            for (const std::string& known : names) all += (all.empty() ? "" : ", ") + known;
            warn("BASALT_SCHEDULER", name, all);
        }
    }
    return config;
}

}  // namespace basalt
