#include "bench/machine_line.hpp"

#include <fstream>

#include "runtime/topology.hpp"

namespace bench {

std::string machine_line() {
    std::string model = "unknown processor";
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        const auto colon = line.find(": ");
        if (line.rfind("model name", 0) != 0 || colon == line.npos) continue;
        model = line.substr(colon + 2);
        break;
    }
    return model + ", " + std::to_string(basalt::detail::usable_cores()) + " cores";
}

}  // namespace bench
