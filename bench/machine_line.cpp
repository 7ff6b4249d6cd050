#include "bench/machine_line.hpp"

#include <basalt/machine.hpp>

#include "runtime/topology.hpp"

namespace bench {

std::string machine_line() {
    return basalt::cpu_model() + ", " + std::to_string(basalt::detail::usable_cores()) + " cores";
}

}  // namespace bench
