#include "runtime/memory/scratch.hpp"

#include <algorithm>

namespace basalt::detail {

void* Scratch::take(StreamRole stream, TaskRef user, std::size_t bytes) {
    Block& block = blocks_[static_cast<std::size_t>(stream)];
    if (block.user != user) {  // what the former user has enqueued comes first
        block.user = user;
        block.used = 0;
    }
    const std::size_t size = Arena::rounded(bytes);
    if (block.bytes - block.used < size) {
        // room for all that the task has taken so far, so that the next one like it needs a single block
        std::size_t wanted = std::max(block.used + size, block.bytes);
        void* fresh = arena_.take_unused(wanted);
        if (fresh == nullptr) fresh = arena_.take_unused(wanted = size);
        if (fresh == nullptr) return nullptr;
        give_back(block);
        block = {static_cast<char*>(fresh), wanted, 0, user};
    }
    void* const memory = block.memory + block.used;
    block.used += size;
    return memory;
}

void Scratch::give_back(Block& block) {
    if (block.memory == nullptr) return;
    TaskGroup users;
    users.push_back(block.user);
    arena_.give_back(block.memory, users);
    block = {};
}

bool Scratch::give_back() {
    const bool any = held() > 0;
    for (Block& block : blocks_) give_back(block);
    return any;
}

std::size_t Scratch::held() const {
    std::size_t bytes = 0;
    for (const Block& block : blocks_) bytes += block.bytes;
    return bytes;
}

}  // namespace basalt::detail
