#include "runtime/memory/program_pins.hpp"

#include "basalt/error.hpp"

namespace basalt::detail {

void ProgramPins::pin(void* memory, std::size_t bytes) {
    const std::lock_guard guard(lock_);
    if (pool_ == nullptr) throw UsageError("Runtime::pin(): the runtime is ending");
    if (!pinned_.insert(memory).second) {
        throw UsageError("Runtime::pin(): memory that begins at this address is pinned; allowed is to pin it once");
    }
    try {
        pool_->pin(memory, bytes);
    } catch (...) {
        pinned_.erase(memory);
        throw;
    }
}

void ProgramPins::unpin(void* memory) noexcept {
    const std::lock_guard guard(lock_);
    if (pool_ == nullptr) return;
    pool_->unpin(memory);
    pinned_.erase(memory);
}

void ProgramPins::end() noexcept {
    const std::lock_guard guard(lock_);
    for (void* memory : pinned_) pool_->unpin(memory);
    pinned_.clear();
    pool_ = nullptr;
}

}  // namespace basalt::detail
