#pragma once

#include <cstddef>
#include <mutex>
#include <unordered_set>

#include "runtime/memory/host_pool.hpp"

namespace basalt::detail {

/// What the program has pinned of its own memory. Shared by the runtime, which ends it, and the program's PinnedMemory
/// objects, which may outlive the runtime. Thread-safe.
class ProgramPins {
  public:
    explicit ProgramPins(HostPool& pool) : pool_(&pool) {}

    /// Throws DeviceError; UsageError after the end and where the program has pinned memory that begins there.
    void pin(void* memory, std::size_t bytes);
    void unpin(void* memory) noexcept;
    /// The runtime ends: all is unpinned, and nothing more is done.
    void end() noexcept;

  private:
    std::mutex lock_;  // guards what follows
    HostPool* pool_;
    std::unordered_set<void*> pinned_;
};

}  // namespace basalt::detail
