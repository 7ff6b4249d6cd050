#include "runtime/device/device.hpp"

#include <array>

namespace basalt::detail {

std::string name_of(StreamRole role) {
    static constexpr std::array<const char*, named_streams> names{"compute", "urgent compute", "from host",
                                                                  "to host", "to peer",        "relay"};
    const StreamRole first = first_of_pool(role);
    std::string name = names[static_cast<std::size_t>(first)];
    if (role == first) return name;
    const int number = static_cast<int>(role) - static_cast<int>(stream_of_pool(first, 1)) + 1;
    return name + ' ' + std::to_string(number + 1);
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
