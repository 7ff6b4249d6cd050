#include "runtime/device/device.hpp"

#include <array>

namespace basalt::detail {

const char* name_of(StreamRole role) {
    static constexpr std::array<const char*, stream_roles> names{"compute", "urgent compute", "from host",
                                                                 "to host", "to peer",        "relay"};
    return names[static_cast<std::size_t>(role)];
}

}  // namespace basalt::detail
