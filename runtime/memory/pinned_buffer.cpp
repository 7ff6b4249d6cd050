#include "runtime/memory/pinned_buffer.hpp"

#include <algorithm>

#include "runtime/device/device.hpp"

namespace basalt::detail {

namespace {

constexpr std::size_t most_kept = 4;

}  // namespace

PinnedPool::~PinnedPool() {
    for (HostBuffer& buffer : kept_) release(buffer);
}

void PinnedPool::release(HostBuffer& buffer) {
    if (device_ != nullptr && buffer.data() != nullptr) device_->unpin(buffer.data());
    buffer = HostBuffer();
}

HostBuffer PinnedPool::take(std::size_t bytes) {
    {
        const std::lock_guard guard(lock_);
        const auto fits = std::find_if(kept_.begin(), kept_.end(), [&](const HostBuffer& buffer) {
            return buffer.size() >= bytes && buffer.size() / 2 <= bytes;
        });
        if (fits != kept_.end()) {
            HostBuffer found = std::move(*fits);
            kept_.erase(fits);
            return found;
        }
    }
    HostBuffer fresh(bytes);
    if (device_ != nullptr && bytes > 0) device_->pin(fresh.data(), bytes);
    return fresh;
}

void PinnedPool::give_back(HostBuffer buffer) {
    const std::lock_guard guard(lock_);
    kept_.push_back(std::move(buffer));
    if (kept_.size() <= most_kept) return;
    release(kept_.front());
    kept_.pop_front();
}

}  // namespace basalt::detail
