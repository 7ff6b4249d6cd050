#include "runtime/engine/cancellable_call.hpp"

#include <mutex>

#include "basalt/graph.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/engine/runtime_access.hpp"

namespace basalt::detail {

CancellableCall::CancellableCall(Runtime& runtime, const Graph* part) {
    if (inside_task(runtime)) return;
    Waiting& waiting = engine_of(runtime).waiting();
    caller_ = &waiting.current_graph();
    if (part != nullptr) {
        const SubmitTo there(*part);
        part_ = &waiting.current_graph();
    }
    const std::lock_guard guard(caller_->order.lock);
    ++caller_->calls;
    if (part_ == nullptr) return;
    caller_->parts.push_back(part_);
    if (caller_->drained()) part_->cancel();
}

CancellableCall::~CancellableCall() {
    if (caller_ == nullptr) return;
    const std::lock_guard guard(caller_->order.lock);
    --caller_->calls;
    if (part_ != nullptr) std::erase(caller_->parts, part_);
}

}  // namespace basalt::detail
