#include "runtime/device/device.hpp"

#include <array>

namespace basalt::detail {

const char* name_of(StreamRole role) {
    static constexpr std::array<const char*, stream_roles> names{"compute", "urgent compute", "from host",
                                                                 "to host", "to peer",        "relay"};
    return names[static_cast<std::size_t>(role)];
}

void enqueue_copy(Device& device, StreamRole stream, const Copy& copy, Device* peer) {
    if (copy.row_bytes == 0) return;
    if (peer != nullptr) {
        device.copy_to_peer(stream, *peer, copy);
    } else {
        device.copy(stream, copy);
    }
}

}  // namespace basalt::detail
