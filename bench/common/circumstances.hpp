#pragma once

#include <string>
#include <vector>

#include "bench/common/machine_load.hpp"
#include "io/files/json_record.hpp"

namespace bench {

/// The command as a shell takes it, without the program's folder and without --json, which changes nothing that is
/// measured.
std::string command_text(const std::vector<std::string>& arguments);

/// Adds to a record what it does not say yet of: "date" (ISO 8601, UTC), "command", "machine", "commit", "driver" and
/// "clocks" (a GPU an entry; both absent without a driver), and "load".
void add_circumstances(basalt::JsonRecord& record, const MachineLoad& load);

}  // namespace bench
