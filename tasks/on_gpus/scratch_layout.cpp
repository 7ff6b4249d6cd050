#include "tasks/on_gpus/scratch_layout.hpp"

#include <utility>

#include "runtime/engine/runtime_access.hpp"
#include "runtime/memory/host_pool.hpp"

namespace basalt::detail {

namespace {

/// The unit in which GPUs' memory is handed out. On the host it keeps buffers aligned to cache lines.
constexpr std::size_t buffer_unit = 512;

}  // namespace

void ScratchLayout::add_bytes(std::size_t element_size, const ScratchShape& shape,
                              std::function<void(Runtime&, void* memory)> make_buffer) {
    if (shape.count == 0) return;
    const std::size_t bytes = static_cast<std::size_t>(shape.rows * shape.cols) * element_size;
    kinds_.push_back({shape, (bytes + buffer_unit - 1) / buffer_unit * buffer_unit, std::move(make_buffer)});
}

std::size_t ScratchLayout::gpu_bytes() const {
    std::size_t sum = 0;
    for (const Kind& kind : kinds_) sum += static_cast<std::size_t>(kind.shape.on_a_gpu) * kind.bytes;
    return sum;
}

std::size_t ScratchLayout::host_bytes(ScratchHome home) const {
    std::size_t sum = 0;
    for (const Kind& kind : kinds_) {
        if (kind.shape.home == home) sum += static_cast<std::size_t>(kind.shape.count) * kind.bytes;
    }
    return sum;
}

ScratchMemory ScratchLayout::make(Runtime& runtime) const {
    ScratchMemory memory;
    const auto fill = [&](ScratchHome home, void* data) {
        auto* next = static_cast<std::byte*>(data);
        for (const Kind& kind : kinds_) {
            if (kind.shape.home != home) continue;
            for (Index i = 0; i < kind.shape.count; ++i, next += kind.bytes) kind.make_buffer(runtime, next);
        }
    };
    if (const std::size_t bytes = host_bytes(ScratchHome::pinned)) {
        memory.pinned = PooledBuffer(pinned_memory(runtime), bytes);
        fill(ScratchHome::pinned, memory.pinned.data());
    }
    if (const std::size_t bytes = host_bytes(ScratchHome::pageable)) {
        memory.pageable = HostBuffer(bytes);
        fill(ScratchHome::pageable, memory.pageable.data());
    }
    if (const std::size_t bytes = host_bytes(ScratchHome::addresses)) {
        memory.addresses = HostBuffer(bytes, HostBacking::untouched);
        fill(ScratchHome::addresses, memory.addresses.data());
    }
    return memory;
}

}  // namespace basalt::detail
