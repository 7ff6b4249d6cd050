#include "bench/common/machine_line.hpp"

#include "base/machine.hpp"

#include "base/topology.hpp"

namespace bench {

std::string machine_line() {
    return basalt::cpu_model() + ", " + std::to_string(basalt::detail::usable_cores()) + " cores";
}

}  // namespace bench
