#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/host_memory.hpp"
#include "base/process.hpp"

namespace basalt::detail {

class Device;

/// Host memory. A few allocations that were given back are kept for later requests of the same size, because touching
/// new memory takes longer than computing with it, and pinning it takes about as long as copying. Thread-safe.
class HostPool {
  public:
    using Devices = std::vector<std::unique_ptr<Device>>;

    /// For memory that only cores use. Each page is near the core that first touches it.
    HostPool() : HostPool(no_devices()) {}
    /// Of memory that GPUs copy to and from at full speed: the first of the devices that is not lost pins for all;
    /// where there is none, nothing is pinned. `package`: the socket that the memory is to be near to, if any.
    explicit HostPool(const Devices& devices, std::optional<int> package = std::nullopt)
        : devices_(devices), package_(package) {}
    ~HostPool();
    HostPool(const HostPool&) = delete;
    HostPool& operator=(const HostPool&) = delete;

    std::optional<int> package() const { return package_; }

    /// At least `bytes`, contents undefined. Throws std::bad_alloc, DeviceError.
    HostBuffer take(std::size_t bytes);
    void give_back(HostBuffer buffer);

    /// For memory that is not the pool's. Throws DeviceError.
    void pin(void* memory, std::size_t bytes);
    void unpin(void* memory) noexcept;
    /// Whether GPUs copy to and from that memory at full speed as it is.
    bool is_pinned(const void* memory, std::size_t bytes) const noexcept;

  private:
    void release(HostBuffer& buffer);
    Device* living_device() const;
    static const Devices& no_devices();

    const Devices& devices_;
    const std::optional<int> package_;
    std::mutex lock_;  // guards what follows
    std::deque<HostBuffer> kept_;
};

/// A block of a pool, for as long as it lives. The pool outlives it.
class PooledBuffer {
  public:
    PooledBuffer() = default;
    PooledBuffer(HostPool& pool, std::size_t bytes) : pool_(&pool), memory_(pool.take(bytes)) {}
    PooledBuffer(PooledBuffer&& other) noexcept { swap(other); }
    PooledBuffer& operator=(PooledBuffer&& other) noexcept {
        swap(other);
        return *this;
    }
    ~PooledBuffer() {
        if (memory_.data() == nullptr) return;
        if (mark_.is_current()) {
            pool_->give_back(std::move(memory_));
        } else {
            keep_for_ever(std::move(memory_));
        }
    }

    void* data() const { return memory_.data(); }

  private:
    void swap(PooledBuffer& other) noexcept {
        std::swap(pool_, other.pool_);
        std::swap(memory_, other.memory_);
        std::swap(mark_, other.mark_);
    }
    HostPool* pool_ = nullptr;
    HostBuffer memory_;
    ProcessMark mark_;
};

}  // namespace basalt::detail
