#pragma once

#include <string>

#include "io/energy_meter.hpp"
#include "io/json_record.hpp"

namespace basalt {

/// "energy 61.2 J, 480.1 W, 50.10 Gflop/s per W (gpu 0 50.1 J, cpu package 0 11.1 J)". `flops`: operations done in the
/// time of the reading.
std::string energy_text(const EnergyReading& reading, double flops);

/// "cpu (why not), gpu 1 (why not)": the parts that are not counted.
std::string uncounted_text(const std::vector<UncountedPart>& parts);

/// {"seconds":..,"joules":..,"watts":..,"gflops_per_watt":..,"parts":[{"name":..,"joules":..,"watts":..},...],
/// "uncounted":[{"name":..,"reason":..},...]}
JsonRecord to_json(const EnergyReading& reading, double flops);

}  // namespace basalt
