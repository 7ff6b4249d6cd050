#include "io/energy/energy_report.hpp"

#include <fmt/format.h>

namespace basalt {

namespace {

/// Operations per nanojoule, which is Gflop/s per watt.
double gflops_per_watt(const EnergyReading& reading, double flops) {
    return reading.joules() > 0 ? flops / reading.joules() * 1e-9 : 0;
}

double watts(const EnergyReading& reading, double joules) { return reading.seconds > 0 ? joules / reading.seconds : 0; }

}  // namespace

std::string energy_text(const EnergyReading& reading, double flops) {
    std::string parts;
    for (const auto& part : reading.parts) {
        parts += fmt::format("{}{} {:.1f} J", parts.empty() ? "" : ", ", part.name, part.joules);
    }
    if (parts.empty()) return "energy no longer counted";
    return fmt::format("energy {:.1f} J, {:.1f} W, {:.2f} Gflop/s per W ({})", reading.joules(), reading.watts(),
                       gflops_per_watt(reading, flops), parts);
}

std::string uncounted_text(const std::vector<UncountedPart>& parts) {
    std::string text;
    for (const UncountedPart& part : parts) {
        text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", part.name, part.reason);
    }
    return text;
}

JsonRecord to_json(const EnergyReading& reading, double flops) {
    JsonRecord json;
    json["seconds"] = reading.seconds;
    json["joules"] = reading.joules();
    json["watts"] = reading.watts();
    json["gflops_per_watt"] = gflops_per_watt(reading, flops);
    json["parts"] = JsonRecord::array();
    for (const auto& part : reading.parts) {
        json["parts"].push_back({{"name", part.name}, {"joules", part.joules}, {"watts", watts(reading, part.joules)}});
    }
    json["uncounted"] = JsonRecord::array();
    for (const UncountedPart& part : reading.uncounted) {
        json["uncounted"].push_back({{"name", part.name}, {"reason", part.reason}});
    }
    return json;
}

}  // namespace basalt
