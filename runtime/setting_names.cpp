// Fields of Config by name, for bindings to other languages.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/config.hpp"
#include "basalt/error.hpp"
#include "basalt/policy.hpp"
#include "basalt/run_models.hpp"
#include "basalt/settings.hpp"
#include "basalt/tuning.hpp"
#include "base/byte_size.hpp"

namespace basalt {

namespace {

struct NamedSetting {
    std::string_view name;
    void (*set)(Config& config, std::string_view value);
};

[[noreturn]] void refuse_value(std::string_view value, const std::string& allowed) {
    throw UsageError("'" + std::string(value) + "'; allowed: " + allowed);
}

template <class Number>
Number number_in(std::string_view text, Number low, Number high) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc{} && end == text.data() + text.size() && low <= number && number <= high) return number;
    refuse_value(text, std::to_string(low) + " to " + std::to_string(high));
}

bool flag_in(std::string_view text) { return number_in<int>(text, 0, 1) != 0; }

std::size_t bytes_in(std::string_view text) {
    if (const auto bytes = parse_byte_size(text)) return *bytes;
    refuse_value(text, "bytes, with K, M, G or T after them or not, e.g. 512M");
}

std::string name_in(std::string_view text, const std::vector<std::string>& names) {
    if (std::find(names.begin(), names.end(), text) != names.end()) return std::string(text);
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
    refuse_value(text, all);
}

constexpr std::int64_t longest_watchdog_seconds = std::chrono::seconds(Config::longest_watchdog).count();

constexpr std::array<NamedSetting, 15> named_settings{{
    {"workers", [](Config& c, std::string_view v) { c.workers = number_in<int>(v, 0, Config::most_workers); }},
    {"scheduler", [](Config& c, std::string_view v) { c.scheduler = name_in(v, scheduler_names()); }},
    {"policy", [](Config& c, std::string_view v) { c.policy = name_in(v, policy_names()); }},
    {"window", [](Config& c, std::string_view v) { c.window = number_in<std::size_t>(v, 0, Config::most_window); }},
    {"bind", [](Config& c, std::string_view v) { c.bind = flag_in(v); }},
    {"gpus", [](Config& c, std::string_view v) { c.gpus = number_in<int>(v, 0, Config::most_gpus); }},
    {"emulated_gpus",
     [](Config& c, std::string_view v) { c.emulation.gpus = number_in<int>(v, 0, Config::most_gpus); }},
    {"gpu_memory", [](Config& c, std::string_view v) { c.gpu_memory = bytes_in(v); }},
    {"gpu_streams",
     [](Config& c, std::string_view v) { c.gpu_streams = number_in<int>(v, 1, Config::most_gpu_streams); }},
    {"tuning",
     [](Config& c, std::string_view v) {
         c.tuning = std::make_shared<const TuningTables>(read_tuning_file(std::string(v)));
     }},
    {"models",
     [](Config& c, std::string_view v) {
         c.models = v == "auto" ? RunModels::default_path() : v == "none" ? std::string() : std::string(v);
     }},
    {"trace", [](Config& c, std::string_view v) { c.trace = flag_in(v); }},
    {"statistics", [](Config& c, std::string_view v) { c.statistics = flag_in(v); }},
    {"watchdog",
     [](Config& c, std::string_view v) {
         c.watchdog = std::chrono::seconds(number_in<std::int64_t>(v, 0, longest_watchdog_seconds));
     }},
    {"drawing", [](Config& c, std::string_view v) { c.drawing = GraphDrawing{.file = std::string(v)}; }},
}};

}  // namespace

void set_by_name(Config& config, std::string_view name, std::string_view value) {
    for (const NamedSetting& setting : named_settings) {
        if (setting.name != name) continue;
        try {
            return setting.set(config, value);
        } catch (const UsageError& error) {
            throw UsageError("setting '" + std::string(name) + "': " + error.what());
        }
    }
    std::string all;
    for (const std::string& known : setting_names()) all += (all.empty() ? "" : ", ") + known;
    throw UsageError("setting '" + std::string(name) + "' is unknown; there are: " + all);
}

const std::vector<std::string>& setting_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        for (const NamedSetting& setting : named_settings) all.emplace_back(setting.name);
        return all;
    }();
    return names;
}

}  // namespace basalt
