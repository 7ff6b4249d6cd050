#include "runtime/recording/recorded_graph.hpp"

#include <algorithm>
#include <cstring>

namespace basalt::detail {

namespace {

constexpr std::size_t closure_alignment = 64;
constexpr std::size_t largest_chunk = std::size_t{1} << 24;

}  // namespace

void ClosureArena::clear() {
    for (const Closure& closure : to_destroy_) closure.ops->destroy(closure.storage);
    to_destroy_.clear();
    chunks_.clear();
    left_ = 0;
}

void* ClosureArena::room_for(std::size_t bytes, std::size_t align) {
    const std::size_t rounded =
        (std::max(bytes, closure_alignment) + closure_alignment - 1) / closure_alignment * closure_alignment;
    const std::size_t strict = std::max(align, closure_alignment);
    const auto skipped = [&] { return -reinterpret_cast<std::uintptr_t>(free_) & (strict - 1); };
    if (left_ < skipped() + rounded) {
        const std::size_t chunk = std::max(next_chunk_, rounded + strict);
        next_chunk_ = std::min(2 * next_chunk_, largest_chunk);
        chunks_.emplace_back(chunk);
        free_ = static_cast<std::byte*>(chunks_.back().data());
        left_ = chunk;
    }
    const std::size_t skip = skipped();
    void* room = free_ + skip;
    free_ += skip + rounded;
    left_ -= skip + rounded;
    return room;
}

void* ClosureArena::make(const KernelOps& ops, void* source, void* const* bases) {
    void* room = room_for(ops.size_with_room(source), ops.align);
    if (ops.destroy != nullptr) to_destroy_.push_back({&ops, room});
    try {
        ops.construct(room, source, bases);
    } catch (...) {
        if (ops.destroy != nullptr) to_destroy_.pop_back();
        throw;
    }
    return room;
}

void* ClosureArena::take(const KernelOps& ops, const void* closure) {
    return std::memcpy(room_for(ops.size, ops.align), closure, ops.size);
}

}  // namespace basalt::detail
