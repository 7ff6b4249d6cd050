#include "base/host_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace basalt::detail {

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t cache_line = 64;
// as what GPUs give, for elements of types with such an alignment
constexpr std::size_t most_aligned = 256;

bool is_mapped(std::size_t bytes) { return bytes >= huge_page; }

std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

void* map_huge(std::size_t bytes, HostBacking backing) {
    // one page more than needed, to start on a huge page's border
    const std::size_t length = round_up(bytes, huge_page);
    const int promise = backing == HostBacking::untouched ? MAP_NORESERVE : 0;
    void* raw = mmap(nullptr, length + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | promise, -1, 0);
    if (raw == MAP_FAILED) throw std::bad_alloc();
    char* begin = static_cast<char*>(raw);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address inside the mapping
    char* aligned = reinterpret_cast<char*>(round_up(reinterpret_cast<std::size_t>(begin), huge_page));
    if (aligned > begin) munmap(begin, static_cast<std::size_t>(aligned - begin));
    if (const auto rest = static_cast<std::size_t>(begin + huge_page - aligned); rest > 0) {
        munmap(aligned + length, rest);
    }
    madvise(aligned, length, MADV_HUGEPAGE);  // a hint: what it answers does not matter
    return aligned;
}

}  // namespace

HostBuffer::HostBuffer(std::size_t bytes, HostBacking backing) : size_(bytes) {
    if (bytes == 0) return;
    if (is_mapped(bytes)) {
        data_ = map_huge(bytes, backing);
        return;
    }
    const std::size_t alignment = std::clamp(std::bit_floor(bytes), cache_line, most_aligned);
    const std::size_t rounded = round_up(bytes, alignment);
    data_ = std::aligned_alloc(alignment, rounded);
    if (data_ == nullptr) throw std::bad_alloc();
    std::memset(data_, 0, rounded);
}

HostBuffer::HostBuffer(HostBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

HostBuffer& HostBuffer::operator=(HostBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

HostBuffer::~HostBuffer() {
    if (data_ == nullptr) return;
    if (is_mapped(size_)) {
        munmap(data_, round_up(size_, huge_page));
    } else {
        std::free(data_);
    }
}

}  // namespace basalt::detail
