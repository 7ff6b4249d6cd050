#include "runtime/memory/host_pool.hpp"

#include <algorithm>

#include "base/topology.hpp"
#include "runtime/device/device.hpp"

namespace basalt::detail {

namespace {

constexpr std::size_t most_kept = 4;

}  // namespace

const HostPool::Devices& HostPool::no_devices() {
    static const Devices none;
    return none;
}

HostPool::~HostPool() {
    for (HostBuffer& buffer : kept_) release(buffer);
}

void HostPool::release(HostBuffer& buffer) {
    if (buffer.data() != nullptr) unpin(buffer.data());
    buffer = HostBuffer();
}

Device* HostPool::living_device() const {
    const auto found =
        std::find_if(devices_.begin(), devices_.end(), [](const auto& device) { return !device->lost(); });
    return found == devices_.end() ? nullptr : found->get();
}

void HostPool::pin(void* memory, std::size_t bytes) {
    if (Device* device = living_device()) device->pin(memory, bytes);
}

void HostPool::unpin(void* memory) noexcept {
    Device* device = living_device();
    if (device == nullptr && !devices_.empty()) device = devices_.front().get();  // does what can still be done
    if (device != nullptr) device->unpin(memory);
}

bool HostPool::is_pinned(const void* memory, std::size_t bytes) const noexcept {
    const Device* device = living_device();
    return device != nullptr && device->is_pinned(memory, bytes);
}

HostBuffer HostPool::take(std::size_t bytes) {
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
    if (package_) keep_near(*package_, fresh.data(), bytes);  // pinning touches it
    if (bytes > 0) pin(fresh.data(), bytes);
    return fresh;
}

void HostPool::give_back(HostBuffer buffer) {
    const std::lock_guard guard(lock_);
    kept_.push_back(std::move(buffer));
    if (kept_.size() <= most_kept) return;
    release(kept_.front());
    kept_.pop_front();
}

}  // namespace basalt::detail
