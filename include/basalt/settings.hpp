#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "basalt/config.hpp"

namespace basalt {

/// Sets one field of a Config from text, for bindings to other languages and for configuration files. Names are those
/// of setting_names(); a value is written as in the environment: "workers" "4", "bind" "0", "gpu_memory" "2G",
/// "watchdog" in seconds, "tuning" and "drawing" as names of files. Throws UsageError for an unknown name and for a
/// value that is not allowed. Not synchronised.
void set_by_name(Config& config, std::string_view name, std::string_view value);

/// All names. Thread-safe.
const std::vector<std::string>& setting_names();

}  // namespace basalt
