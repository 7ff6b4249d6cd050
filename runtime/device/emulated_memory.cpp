#include "runtime/device/emulated_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace basalt::detail {

namespace {

constexpr std::size_t guard_bytes = EmulatedMemory::alignment;
constexpr std::byte guard{0xA5};
constexpr std::byte poison{0xFF};

[[noreturn]] void stop(const char* why, const void* memory, std::size_t bytes) {
    std::fprintf(stderr, "basalt: emulated device memory: %s (allocation %p of %zu bytes)\n", why, memory, bytes);
    std::abort();
}

bool is_guard(const std::byte* begin) {
    return std::all_of(begin, begin + guard_bytes, [](std::byte value) { return value == guard; });
}

/// A file of poison, mapped again and again: pages that are never written take no memory.
class PoisonFile {
  public:
    PoisonFile() : file_(memfd_create("basalt-poison", MFD_CLOEXEC)) {
        const std::vector<std::byte> bytes(length, poison);
        if (file_ >= 0 && ::write(file_, bytes.data(), length) == static_cast<ssize_t>(length)) return;
        const int why = errno;
        if (file_ >= 0) close(file_);
        throw std::system_error(why, std::generic_category(), "memory of an emulated device: memfd_create");
    }
    ~PoisonFile() { close(file_); }
    PoisonFile(const PoisonFile&) = delete;
    PoisonFile& operator=(const PoisonFile&) = delete;

    /// `bytes` bytes of poison; nullptr where the system has no room.
    std::byte* map(std::size_t bytes) const {
        constexpr int own = MAP_PRIVATE | MAP_NORESERVE;
        void* const room = mmap(nullptr, bytes, PROT_NONE, own | MAP_ANONYMOUS, -1, 0);
        if (room == MAP_FAILED) return nullptr;
        auto* const begin = static_cast<std::byte*>(room);
        for (std::size_t done = 0; done < bytes; done += length) {
            const std::size_t part = std::min(length, bytes - done);
            if (mmap(begin + done, part, PROT_READ | PROT_WRITE, own | MAP_FIXED, file_, 0) == MAP_FAILED) {
                munmap(begin, bytes);
                return nullptr;
            }
        }
        return begin;
    }

  private:
    static constexpr std::size_t length = std::size_t{8} << 20;
    const int file_;
};

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
    static const PoisonFile file;
    std::byte* const raw = file.map(guard_bytes + bytes + guard_bytes);
    if (raw == nullptr) return nullptr;
    std::byte* const begin = raw + guard_bytes;
    std::fill_n(raw, guard_bytes, guard);
    std::fill_n(begin + bytes, guard_bytes, guard);
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
    munmap(raw, guard_bytes + bytes + guard_bytes);
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
