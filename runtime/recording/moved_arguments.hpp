#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/host_memory.hpp"
#include "base/prefetch.hpp"
#include "runtime/recording/recorded_graph.hpp"

namespace basalt::detail {

/// Arguments of a recording's kernels that lead to other data than those that were recorded, in the order of the nodes.
/// The kernels' own are never changed: other threads may copy them, see Resubmitted.
///
/// Those of a node belong to the thread that runs it.
class MovedArguments {
  public:
    /// `recorded` outlives this. Throws std::bad_alloc.
    explicit MovedArguments(const RecordedGraph& recorded);
    ~MovedArguments();
    MovedArguments(const MovedArguments&) = delete;
    MovedArguments& operator=(const MovedArguments&) = delete;

    /// Makes the node's arguments once more: its data lie shifts[datum] bytes behind those that were recorded. nullptr
    /// where its kernel has no arguments. Throws what copying an argument throws.
    void* make(std::uint32_t node, const std::ptrdiff_t* shifts);
    void prefetch(std::uint32_t node) const {
        prefetch_to_write(at(node));
        prefetch_to_write(at(node) + 64);
    }

  private:
    /// In front of a node's arguments: whether they are there. Its size keeps them aligned as by operator new.
    struct alignas(std::max_align_t) Header {
        bool made;
    };

    std::byte* at(std::uint32_t node) const { return static_cast<std::byte*>(memory_.data()) + offsets_[node]; }
    void destroy(std::uint32_t node) noexcept;

    const RecordedGraph& recorded_;
    std::vector<std::size_t> offsets_;  ///< of each node's header
    HostBuffer memory_;
};

}  // namespace basalt::detail
