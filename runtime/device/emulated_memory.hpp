#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace basalt::detail {

/// The memory of an emulated device: a heap of limited size that knows its live allocations.
///
/// Each allocation lies between guard bytes, checked when it is released: code that writes past its ends, or
/// releases what is not allocated, ends the program with a message. Fresh memory is full of 0xFF bytes (NaN in
/// every floating-point type), but takes none of the host's until it is written; released memory is no longer there.
/// Safe to use from several threads.
class EmulatedMemory {
  public:
    static constexpr std::size_t alignment = 512;

    explicit EmulatedMemory(std::size_t capacity) : capacity_(capacity) {}
    ~EmulatedMemory();
    EmulatedMemory(const EmulatedMemory&) = delete;
    EmulatedMemory& operator=(const EmulatedMemory&) = delete;

    /// nullptr where there is no room, or for 0 bytes. Throws std::system_error where the system makes no file of
    /// poison.
    void* allocate(std::size_t bytes);
    void release(void* memory) noexcept;

    /// Whether the `bytes` bytes from `begin` lie in one live allocation.
    bool holds(const void* begin, std::size_t bytes) const;
    /// Whether any of those bytes lies in a live allocation.
    bool touches(const void* begin, std::size_t bytes) const;

    std::size_t capacity() const { return capacity_; }
    std::size_t used() const;
    std::size_t peak() const;

  private:
    using Allocations = std::map<const std::byte*, std::size_t>;  // bytes by first byte

    static std::size_t footprint(std::size_t bytes);
    static void free_checked(const Allocations::value_type& allocation);

    const std::size_t capacity_;
    mutable std::mutex mutex_;
    Allocations live_;  // guarded by mutex_, like the two below
    std::size_t used_ = 0;
    std::size_t peak_ = 0;
};

}  // namespace basalt::detail
