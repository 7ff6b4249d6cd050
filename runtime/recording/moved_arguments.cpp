#include "runtime/recording/moved_arguments.hpp"

#include <new>

namespace basalt::detail {

MovedArguments::MovedArguments(const RecordedGraph& recorded) : recorded_(recorded) {
    std::size_t bytes = 0;
    offsets_.reserve(recorded.node_count);
    for (std::uint32_t node = 0; node < recorded.node_count; ++node) {
        offsets_.push_back(bytes);
        const KernelOps* const ops = recorded.nodes[node].ops;
        const std::size_t size = ops != nullptr ? ops->arguments_size : 0;
        if (size > 0) bytes += sizeof(Header) + (size + sizeof(Header) - 1) / sizeof(Header) * sizeof(Header);
    }
    memory_ = HostBuffer(bytes + sizeof(Header));  // one more: offsets of nodes without arguments may lie at the end
    for (const std::size_t offset : offsets_) ::new (static_cast<std::byte*>(memory_.data()) + offset) Header{false};
}

MovedArguments::~MovedArguments() {
    for (std::uint32_t node = 0; node < recorded_.node_count; ++node) destroy(node);
}

void MovedArguments::destroy(std::uint32_t node) noexcept {
    const KernelOps* const ops = recorded_.nodes[node].ops;
    if (ops == nullptr || ops->arguments_size == 0) return;
    Header& header = *std::launder(reinterpret_cast<Header*>(at(node)));
    if (header.made && ops->destroy_arguments != nullptr) ops->destroy_arguments(&header + 1);
    header.made = false;
}

void* MovedArguments::make(std::uint32_t number, const std::ptrdiff_t* shifts) {
    const RecordedNode& node = recorded_.nodes[number];
    if (node.ops->arguments_size == 0) return nullptr;
    destroy(number);
    Header& header = *std::launder(reinterpret_cast<Header*>(at(number)));
    node.ops->copy_arguments(&header + 1, node.kernel, {recorded_.data_in_order.data() + node.first_access, shifts});
    header.made = true;
    return &header + 1;
}

}  // namespace basalt::detail
