#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/spin_lock.hpp"
#include "runtime/graph/access_map.hpp"

namespace basalt::detail {

struct SlotCache;
struct Version;

/// The order in which one stream of submissions enters the runtime: all that threads outside tasks submit, to whatever
/// graph, or the children of one task. Hazards are those of this order.
///
/// `lock` guards everything here and the access maps of the data that are at home in this order.
struct ProgramOrder {
    explicit ProgramOrder(std::uint64_t id) : id(id) {}

    /// How this order sees the users of a datum whose home is another one. Under the lock.
    AccessMap& map_of(const Version* version) { return maps[version]; }

    const std::uint64_t id;  ///< never used again for another order
    mutable SpinLock lock;
    std::uint64_t next_stamp = 0;
    std::uint64_t user_tasks = 0;
    std::uint64_t edges = 0;
    std::uint64_t dropped = 0;
    std::uint64_t sync_nodes = 0;
    std::uint64_t renamed = 0;
    SlotCache* cache = nullptr;  ///< for threads without a place; of level 0 only
    std::unordered_map<const Version*, AccessMap> maps;
    std::vector<std::shared_ptr<Reduction>> open_reductions;
    /// Closed, but their results are perhaps not there yet: for wait(), at level 0.
    std::vector<std::shared_ptr<Reduction>> closing_reductions;
    std::size_t many_closing = 32;  ///< then those are forgotten whose results are there
    std::uint64_t closed_reductions = 0;
};

}  // namespace basalt::detail
