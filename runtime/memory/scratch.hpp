#pragma once

#include <array>
#include <cstddef>
#include <functional>

#include "runtime/device/device.hpp"
#include "runtime/memory/arena.hpp"

namespace basalt::detail {

/// Scratch memory of the tasks of one device: for each of its streams a block, which its tasks use one after the other.
/// Blocks are those of the device's arena. A block that is given back names the last task that used it: the next owner
/// of the memory waits for that one, which is behind all others of its stream. Not synchronised.
class Scratch {
  public:
    explicit Scratch(Arena& arena) : arena_(arena) {}

    /// Memory for `user`, whose work is enqueued on the stream behind that of all earlier users. nullptr where there is
    /// none. Throws DeviceError as Arena::take() does.
    void* take(StreamRole stream, TaskRef user, std::size_t bytes);
    /// Gives back all blocks; false where there are none.
    bool give_back();
    /// Bytes of the blocks.
    std::size_t held() const;

  private:
    struct Block {
        char* memory = nullptr;
        std::size_t bytes = 0;
        std::size_t used = 0;  ///< by `user`
        TaskRef user;          ///< the last one
    };
    void give_back(Block& block);

    Arena& arena_;
    std::array<Block, stream_roles> blocks_;
};

}  // namespace basalt::detail
