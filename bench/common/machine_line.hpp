#pragma once

#include <string>

namespace bench {

/// The machine in one line for records: "MODEL, N cores", where N counts the cores that this process may use.
std::string machine_line();

}  // namespace bench
