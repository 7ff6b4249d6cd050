#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/recording/recorded_graph.hpp"

namespace basalt::detail {

/// A recorded task on its way into the graph once more, as an ordinary task: `source` of KernelOps::construct().
struct Resubmitted {
    const RecordedGraph::Submitted& task;
    std::shared_ptr<const RecordedGraph> recorded;  ///< kept alive by the new task

    /// Where the kernel's arguments led to when it was recorded, by access.
    std::byte* recorded_base(std::size_t access) const {
        const RecordedAccess& a = recorded->accesses[task.first_access + access];
        return a.empty() ? nullptr : recorded->bases[a.datum];
    }
};

/// How a task with those kernels runs once more: its kernels are those of the recording, its arguments are its own.
/// Lives as long as the program. Thread-safe.
const KernelOps& resubmission_of(const KernelOps& ops);

}  // namespace basalt::detail
