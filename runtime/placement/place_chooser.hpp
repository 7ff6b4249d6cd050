#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/policy.hpp"
#include "basalt/task_options.hpp"
#include "runtime/device/gpus.hpp"
#include "runtime/graph/task_builder.hpp"
#include "runtime/placement/place_plan.hpp"
#include "runtime/placement/placed_tasks.hpp"
#include "runtime/placement/task_models.hpp"

namespace basalt::detail {

/// Defined in schedulers/. nullptr for the policy that needs none of this, Coherence::choose_device(). Throws
/// UsageError for a name that is not in policy_names().
std::unique_ptr<Policy> make_policy(const std::string& name);

/// Asks a policy where a task runs. Gathers what policies see: where data are, how much is queued, what was learnt.
///
/// Under the root scope's lock, but for placed(), which the threads that run tasks use.
class PlaceChooser {
  public:
    struct Machine {
        int workers;
        int gpu_streams;
    };
    PlaceChooser(std::unique_ptr<Policy> policy, std::string name, const Gpus& gpus, const Machine& machine);

    /// One of `nodes`, those where the task may run. The policy is not asked if it does not want to be. Throws what the
    /// policy throws, and UsageError if it chooses something else.
    Node choose(TaskBuilder& task, const TaskOptions& options, std::span<const Node> nodes);
    /// The task for which choose() was called last enters the graph.
    void commit(const TaskBuilder& task);

    /// nullptr for policies that observe nothing.
    PlacedTasks* placed() { return placed_ ? &*placed_ : nullptr; }
    TaskModels& models() { return models_; }

  private:
    /// What choose() has found out about the task, for commit().
    struct Pending {
        TaskModel* model = nullptr;  ///< nullptr: the policy does not observe the task
        Node node = host_node;
        PlacePlan::Time now = 0;
        PlacePlan::Time duration = 0;
        std::vector<PlannedCopy> copies;
    };
    struct OfTask;

    static PlaceOffer data_offer(const TaskBuilder& task, Node node);
    void add_times(PlaceOffer& offer, const TaskBuilder& task, Node node, const OfTask& known);
    void find_copies(const TaskBuilder& task, Node node, PlacePlan::Time now, std::vector<PlannedCopy>& copies) const;
    PlannedCopy copy_to(Node node, const BoundAccess& access) const;
    static PlacePlan::Time expected(const BoundAccess& access);
    std::size_t kind_of(Node node) const { return kinds_[static_cast<std::size_t>(node)]; }

    const std::unique_ptr<Policy> policy_;
    const std::string name_;
    const Observed observed_;
    const Gpus& gpus_;
    PlacePlan plan_;
    std::vector<std::size_t> kinds_;  ///< by node: its kind of processor
    TaskModels models_;
    std::optional<PlacedTasks> placed_;
    Pending pending_;
    // scratch of choose()
    std::vector<PlaceOffer> offers_;
    std::vector<PlannedCopy> copies_;
};

}  // namespace basalt::detail
