#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "runtime/graph/task_group.hpp"

namespace basalt::detail {

class Device;

/// Memory of one device, handed out in blocks: best fit in chunks, lowest address first, so that blocks of one
/// size taken one after the other lie at a constant stride.
///
/// A block may be given back while tasks submitted earlier still use it: they are named then, and the next
/// owner of the memory is told to wait for them. Not synchronised.
class Arena {
  public:
    /// At most `limit` bytes of the device; 0: as much as it has. `completed` tells whether a task is done.
    Arena(Device& device, std::size_t limit, std::function<bool(TaskRef)> completed);
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    /// A block, or nullptr where none is free: give something back and try again. `users` gets the tasks that may still
    /// use the memory. Throws DeviceError when the device fails otherwise than by lack of memory.
    void* take(std::size_t bytes, TaskGroup& users);
    /// The same, of memory that no task uses any more.
    void* take_unused(std::size_t bytes);
    /// What the device said when it had no memory to give; empty when it was not asked since begin_reservation(), or
    /// gave some.
    const std::string& refusal() const { return refusal_; }
    /// From here on the device is asked again for what it did not have.
    void begin_reservation() {
        refusal_.clear();
        least_refused_ = std::numeric_limits<std::size_t>::max();
    }
    void give_back(void* block, const TaskGroup& users);

    /// Makes room for `bytes` in one chunk, if it can; for blocks that are to lie side by side.
    void prepare(std::size_t bytes);

    /// Bytes that a block of `bytes` bytes takes up.
    static std::size_t rounded(std::size_t bytes);
    /// Bytes that it may hand out in all.
    std::size_t capacity() const;
    std::size_t in_use() const { return in_use_; }
    /// The most bytes that were in use at once.
    std::size_t most_in_use() const { return most_in_use_; }
    void forget_most_in_use() { most_in_use_ = in_use_; }
    /// Bytes that it has from the device by now.
    std::size_t total() const { return total_; }

  private:
    struct Range {
        std::size_t bytes;
        bool free = true;
        bool chunk_begin = false;  ///< never joined with what lies before
        TaskGroup users{};         ///< of a free range: tasks that may still use it
    };
    using Ranges = std::map<char*, Range>;

    bool grow(std::size_t bytes);
    enum class Used : std::uint8_t { perhaps, no };
    Ranges::iterator best_free(std::size_t size, Used used);
    void* cut_off(Ranges::iterator range, std::size_t size);
    std::size_t left() const;
    Ranges::iterator next_unused_chunk(Ranges::iterator from);
    std::size_t give_back_unused_chunks(std::size_t least);
    void join_with_next(Ranges::iterator range);

    Device& device_;
    const std::size_t limit_;
    const std::function<bool(TaskRef)> completed_;
    std::string refusal_;
    std::size_t least_refused_ = std::numeric_limits<std::size_t>::max();
    std::size_t total_ = 0;
    std::size_t in_use_ = 0;
    std::size_t most_in_use_ = 0;
    Ranges ranges_;
    std::vector<void*> chunks_;
};

}  // namespace basalt::detail
