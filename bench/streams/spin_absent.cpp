#include <stdexcept>

#include "bench/streams/spin.hpp"

namespace bench {

void spin(basalt::Stream, std::int64_t) { throw std::runtime_error("built without CUDA"); }

}  // namespace bench
