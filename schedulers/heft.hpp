#pragma once

#include "basalt/policy.hpp"

namespace basalt::detail {

/// Each task goes where it is expected to be finished first: when a worker or stream is free and the data are there,
/// plus the learnt time of the kernel.
///
/// A task that has never run on some kind of processor runs there once, to learn its time. Until all times are known,
/// further tasks go to GPUs if they can, as they do without this policy: a GPU is seldom much slower than a core.
///
/// Source: heterogeneous earliest finish time, Topcuoglu, Hariri and Wu, IEEE TPDS 13:3 (2002), in program order
/// instead of the order of ranks.
class Heft final : public Policy {
  public:
    Observed observed() const override { return Observed::all; }
    std::size_t choose(const TaskToPlace& task) override;
};

}  // namespace basalt::detail
