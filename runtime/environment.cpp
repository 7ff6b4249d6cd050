// What the environment asks of a runtime whose program leaves the choice to it.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <spdlog/spdlog.h>
#include <unistd.h>

#include "basalt/policy.hpp"
#include "basalt/run_models.hpp"
#include "basalt/runtime.hpp"
#include "basalt/tuning.hpp"
#include "base/byte_size.hpp"

namespace basalt {

namespace {

constexpr std::string_view prefix = "BASALT_";
constexpr int all_gpus = -1;  // as a value of BASALT_GPUS

// Those of the program `basalt` and of libbasalt_lapack too: they run on this library, and theirs are no mistakes.
constexpr std::array<std::string_view, 25> known_variables{
    "BASALT_WORKERS",     "BASALT_SCHEDULER",     "BASALT_WINDOW",
    "BASALT_BIND",        "BASALT_GPUS",          "BASALT_EMULATED_GPUS",
    "BASALT_GPU_MEM",     "BASALT_DATA",          "BASALT_MODE",
    "BASALT_NB",          "BASALT_TILE",          "BASALT_LOOKAHEAD",
    "BASALT_TRACE",       "BASALT_PANEL_THREADS", "BASALT_JSON",
    "BASALT_VERBOSE",     "BASALT_TUNING",        "BASALT_MODELS",
    "BASALT_GPU_STREAMS", "BASALT_WATCHDOG",      "BASALT_DOT",
    "BASALT_POLICY",      "BASALT_LAPACK",        "BASALT_LAPACK_THRESHOLD",
    "BASALT_LAPACK_LOG"};

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

/// One of the names, or `otherwise`, with a warning for any other text.
std::string name_from(const char* variable, const std::vector<std::string>& names, const std::string& otherwise) {
    const char* name = std::getenv(variable);
    if (name == nullptr) return otherwise;
    if (std::find(names.begin(), names.end(), name) != names.end()) return name;
    std::string all;
    for (const std::string& known : names) all += (all.empty() ? "" : ", ") + known;
    warn(variable, name, all);
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
    constexpr auto longest_watchdog = std::chrono::seconds(Config::longest_watchdog).count();
    config.watchdog = std::chrono::seconds(number_from<std::int64_t>("BASALT_WATCHDOG", 0, longest_watchdog, 0));
    if (const char* file = std::getenv("BASALT_DOT"); file != nullptr && *file != '\0') config.drawing = {.file = file};
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
    config.scheduler = name_from("BASALT_SCHEDULER", scheduler_names(), config.scheduler);
    config.policy = name_from("BASALT_POLICY", policy_names(), config.policy);
    return config;
}

}  // namespace basalt
