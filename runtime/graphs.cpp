#include "basalt/graph.hpp"

#include "runtime/engine/runtime_access.hpp"
#include "runtime/engine/user_graphs.hpp"

namespace basalt {

Graph::Graph(Runtime& runtime, int priority) : state_(detail::make_graph(runtime, priority)) {}

Graph::~Graph() {
    if (!state_->mark.is_current()) {
        detail::keep_for_ever(std::move(state_));  // its tasks may run
        return;
    }
    if (state_->runtime_ended.load(std::memory_order_acquire)) return;
    if (!state_->waiting.is_outside()) {
        state_->graphs.keep(state_);
        return;
    }
    const detail::SubmissionTarget here(state_->graph, state_->scope);
    state_->waiting.drain("a Graph");
}

Runtime& Graph::runtime() const {
    state_->require_runtime("Graph::runtime()");
    return state_->runtime;
}

void Graph::wait() { SubmitTo(*this).runtime().wait(); }
bool Graph::wait_for(std::chrono::nanoseconds limit) { return SubmitTo(*this).runtime().wait_for(limit); }
void Graph::cancel() {
    state_->require_runtime("Graph::cancel()");
    state_->waiting.cancel(state_->scope);
}
bool Graph::cancelled() const { return state_->scope.drained(); }
std::exception_ptr Graph::error() const {
    state_->mark.require_current("the Graph");
    return state_->scope.error();
}

detail::SubmissionTarget::~SubmissionTarget() { innermost_ = outer_; }

SubmitTo::SubmitTo(detail::GraphState& state)
    : runtime_((state.check_usable("using a Graph"), state.runtime)), target_(state.graph, state.scope) {}

}  // namespace basalt
