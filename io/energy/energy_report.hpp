#pragma once

#include <string>

#include "io/energy/energy_meter.hpp"
#include "io/files/json_record.hpp"

namespace basalt {

/// "energy 61.2 J, 480.1 W, 50.10 Gflop/s per W (gpu 0 50.1 J, cpu package 0 11.1 J)". `flops`: the operations of that
/// time.
std::string energy_text(const EnergyReading& reading, double flops);

/// "cpu (REASON), gpu 1 (REASON)": the parts that are not counted.
std::string uncounted_text(const std::vector<UncountedPart>& parts);

/// {"seconds":..,"joules":..,"watts":..,"gflops_per_watt":..,"parts":[{"name":..,"joules":..,"watts":..},...],
/// "uncounted":[{"name":..,"reason":..},...]}
JsonRecord to_json(const EnergyReading& reading, double flops);

}  // namespace basalt
