#pragma once

#include <cstdint>

#include "basalt/device.hpp"

namespace bench {

/// Enqueues a kernel of one thread that does nothing for so long. Throws std::runtime_error where CUDA refuses.
void spin(basalt::Stream stream, std::int64_t nanoseconds);

}  // namespace bench
