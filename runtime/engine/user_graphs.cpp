#include "runtime/engine/user_graphs.hpp"

#include <string>
#include <utility>

namespace basalt::detail {

void GraphState::require_runtime(const char* what) const {
    mark.require_current("the Graph");
    if (runtime_ended.load(std::memory_order_acquire)) {
        throw UsageError(std::string(what) + ": the graph's runtime has ended");
    }
}

void GraphState::check_usable(const char* what) const {
    require_runtime(what);
    graph.refuse_while_recording(what);
    if (const Task* task = ThreadContext::task_of(graph)) {
        throw UsageError(std::string(what) + " inside task '" + task_label(*task) +
                         "': a Graph is used outside tasks; what is submitted to the runtime inside a task are its "
                         "children");
    }
}

std::shared_ptr<GraphState> UserGraphs::make(Runtime& runtime, int priority) {
    auto state = std::make_shared<GraphState>(runtime, graph_, waiting_, *this, priority);
    state->check_usable("making a Graph");
    state->scope.losses_seen = waiting_.losses();
    const std::lock_guard guard(lock_);
    std::erase_if(kept_, [](const auto& kept) { return kept->scope.outstanding.load(std::memory_order_acquire) == 1; });
    std::erase_if(graphs_, [](const auto& known) { return known.expired(); });
    graphs_.push_back(state);
    return state;
}

void UserGraphs::keep(std::shared_ptr<GraphState> state) {
    const std::lock_guard guard(lock_);
    kept_.push_back(std::move(state));
}

void UserGraphs::end() noexcept {
    while (true) {
        std::shared_ptr<GraphState> state;
        {
            const std::lock_guard guard(lock_);
            if (graphs_.empty()) return;
            state = graphs_.back().lock();
            graphs_.pop_back();
        }
        if (state == nullptr) continue;
        const SubmissionTarget here(graph_, state->scope);
        waiting_.drain("a Graph");
        state->runtime_ended.store(true, std::memory_order_release);
    }
}

}  // namespace basalt::detail
