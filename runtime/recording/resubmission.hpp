#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "runtime/recording/recorded_graph.hpp"

namespace basalt::detail {

/// A recorded task on its way into the graph once more, as an ordinary task: `source` of KernelOps::construct().
struct Resubmitted {
    const RecordedGraph::Submitted& task;
    std::shared_ptr<const RecordedGraph> recorded;  ///< kept alive by the new task
    std::span<const AccessRecord> records;          ///< of the new task

    const RecordedAccess& access(std::size_t i) const { return recorded->accesses[task.first_access + i]; }
};

/// How a task with those kernels runs once more: its kernels are those of the recording, its arguments are its own.
/// Lives as long as the program. Thread-safe.
const KernelOps& resubmission_of(const KernelOps& ops);

}  // namespace basalt::detail
