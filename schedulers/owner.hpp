#pragma once

#include "basalt/policy.hpp"

namespace basalt::detail {

/// Owner computes: each task goes where most of the bytes that it writes are, of equals where most of its data are.
/// Data that the host has stay there until a task must run on a GPU or prefetch() moves them.
class Owner final : public Policy {
  public:
    std::size_t choose(const TaskToPlace& task) override;
};

}  // namespace basalt::detail
