#include "runtime/device/emulated_memory.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace basalt::detail {

namespace {

constexpr std::size_t guard_bytes = EmulatedMemory::alignment;
constexpr std::byte guard{0xA5};
constexpr int poison = 0xFF;

[[noreturn]] void stop(const char* why, const void* memory, std::size_t bytes) {
    std::fprintf(stderr, "basalt: emulated device memory: %s (allocation %p of %zu bytes)\n", why, memory, bytes);
    std::abort();
}

bool is_guard(const std::byte* begin) {
    return std::all_of(begin, begin + guard_bytes, [](std::byte value) { return value == guard; });
}

}  // namespace

EmulatedMemory::~EmulatedMemory() {
    for (const auto& allocation : live_) free_checked(allocation);
}

std::size_t EmulatedMemory::footprint(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

void* EmulatedMemory::allocate(std::size_t bytes) {
    if (bytes == 0 || bytes > capacity_) return nullptr;
    const std::size_t size = footprint(bytes);
    const std::lock_guard lock(mutex_);
    if (size > capacity_ - used_) return nullptr;
    auto* raw = static_cast<std::byte*>(std::aligned_alloc(alignment, size + 2 * guard_bytes));
    if (raw == nullptr) return nullptr;
    std::byte* begin = raw + guard_bytes;
    std::memset(raw, static_cast<int>(guard), guard_bytes);
    std::memset(begin, poison, bytes);
    std::memset(begin + bytes, static_cast<int>(guard), guard_bytes);
    live_.emplace(begin, bytes);
    used_ += size;
    peak_ = std::max(peak_, used_);
    return begin;
}

void EmulatedMemory::release(void* memory) noexcept {
    if (memory == nullptr) return;
    const std::lock_guard lock(mutex_);
    const auto found = live_.find(static_cast<const std::byte*>(memory));
    if (found == live_.end()) stop("released what is not allocated", memory, 0);
    free_checked(*found);
    used_ -= footprint(found->second);
    live_.erase(found);
}

void EmulatedMemory::free_checked(const Allocations::value_type& allocation) {
    const auto [begin, bytes] = allocation;
    std::byte* raw = const_cast<std::byte*>(begin) - guard_bytes;
    if (!is_guard(raw)) stop("someone wrote in front of an allocation", begin, bytes);
    if (!is_guard(begin + bytes)) stop("someone wrote past the end of an allocation", begin, bytes);
    std::memset(raw, poison, bytes + 2 * guard_bytes);
    std::free(raw);
}

bool EmulatedMemory::holds(const void* begin, std::size_t bytes) const {
    const auto* first = static_cast<const std::byte*>(begin);
    const std::lock_guard lock(mutex_);
    auto next = live_.upper_bound(first);
    if (next == live_.begin()) return false;
    const auto [start, size] = *std::prev(next);
    const auto offset = static_cast<std::size_t>(first - start);
    return offset <= size && bytes <= size - offset;
}

bool EmulatedMemory::touches(const void* begin, std::size_t bytes) const {
    const auto* first = static_cast<const std::byte*>(begin);
    const std::lock_guard lock(mutex_);
    auto next = live_.lower_bound(first + bytes);  // the first allocation behind those bytes
    if (next == live_.begin()) return false;
    const auto [start, size] = *std::prev(next);
    return bytes > 0 && start + size > first;
}

std::size_t EmulatedMemory::used() const {
    const std::lock_guard lock(mutex_);
    return used_;
}

std::size_t EmulatedMemory::peak() const {
    const std::lock_guard lock(mutex_);
    return peak_;
}

}  // namespace basalt::detail
