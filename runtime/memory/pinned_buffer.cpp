#include "runtime/memory/pinned_buffer.hpp"

#include <utility>

#include "runtime/engine.hpp"

namespace basalt::detail {

PinnedBuffer::PinnedBuffer(Engine& engine, std::size_t bytes) : memory_(bytes) {
    if (bytes == 0 || engine.gpus() == 0) return;
    engine.device(0).pin(memory_.data(), bytes);
    engine_ = &engine;
}

PinnedBuffer::PinnedBuffer(PinnedBuffer&& other) noexcept
    : engine_(std::exchange(other.engine_, nullptr)), memory_(std::move(other.memory_)) {}

PinnedBuffer& PinnedBuffer::operator=(PinnedBuffer&& other) noexcept {
    std::swap(engine_, other.engine_);
    std::swap(memory_, other.memory_);
    return *this;
}

PinnedBuffer::~PinnedBuffer() {
    if (engine_ != nullptr) engine_->device(0).unpin(memory_.data());
}

}  // namespace basalt::detail
