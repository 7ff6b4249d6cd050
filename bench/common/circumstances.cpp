#include "bench/common/circumstances.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <optional>
#include <string_view>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/build_commit.hpp"
#include "bench/common/machine_line.hpp"
#include "io/energy/gpu_clocks.hpp"

namespace bench {

namespace {

using basalt::JsonRecord;

std::string quoted(const std::string& argument) {
    const auto plain = [](char c) {
        return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') ||
               std::string_view("-_./,:=+").find(c) != std::string_view::npos;
    };
    if (!argument.empty() && std::all_of(argument.begin(), argument.end(), plain)) return argument;
    std::string text = "'";
    for (const char c : argument) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

/// The arguments of this process: each ends with a zero byte.
std::vector<std::string> own_arguments() {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::vector<std::string> arguments;
    for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
    return arguments;
}

std::string utc_date() {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(now)));
}

template <class T>
JsonRecord number_or_null(const std::optional<T>& value) {
    return value ? JsonRecord(*value) : JsonRecord();
}

JsonRecord to_json(const basalt::GpuClocks& gpu) {
    JsonRecord json;
    json["gpu"] = gpu.model;
    json["sm_mhz"] = number_or_null(gpu.sm_mhz);
    json["memory_mhz"] = number_or_null(gpu.memory_mhz);
    json["power_limit_watts"] = number_or_null(gpu.power_limit_watts);
    return json;
}

JsonRecord to_json(const MachineLoad& load) {
    const auto rounded = [](const std::optional<double>& cores) {
        return cores ? JsonRecord(std::round(*cores * 100) / 100) : JsonRecord();
    };
    JsonRecord json;
    json["average"] = rounded(load.average);
    json["others"] = rounded(load.others);
    json["stolen"] = rounded(load.stolen);
    return json;
}

}  // namespace

std::string command_text(const std::vector<std::string>& arguments) {
    std::string text;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        if (i == 0) {
            text = quoted(argument.substr(argument.find_last_of('/') + 1));
        } else if (argument == "--json") {
            ++i;
        } else if (argument.rfind("--json=", 0) != 0) {
            text += ' ' + quoted(argument);
        }
    }
    return text;
}

void add_circumstances(JsonRecord& record, const MachineLoad& load) {
    record["date"] = utc_date();
    record["command"] = command_text(own_arguments());
    if (!record.contains("machine")) record["machine"] = machine_line();
    record["commit"] = basalt::build_commit;
    if (const auto driver = basalt::read_driver_state()) {
        record["driver"] = driver->version;
        record["clocks"] = JsonRecord::array();
        for (const basalt::GpuClocks& gpu : driver->gpus) record["clocks"].push_back(to_json(gpu));
    }
    record["load"] = to_json(load);
}

}  // namespace bench
