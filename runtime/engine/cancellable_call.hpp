#pragma once

#include "basalt/error.hpp"
#include "basalt/runtime.hpp"

namespace basalt {
class Graph;
}

namespace basalt::detail {

class Scope;

/// While it lives, the calling thread submits tasks, waits for them and computes in turns, all for the graph that it
/// submits to now. cancel() of that graph has an effect throughout, also where none of its tasks is in flight at that
/// moment. Inside a task it does nothing: the task is in flight. The same thread ends it.
class CancellableCall {
  public:
    explicit CancellableCall(Runtime& runtime) : CancellableCall(runtime, nullptr) {}
    /// cancel() also cancels `part`, a graph that outlives this object.
    CancellableCall(Runtime& runtime, const Graph& part) : CancellableCall(runtime, &part) {}
    ~CancellableCall();
    CancellableCall(const CancellableCall&) = delete;
    CancellableCall& operator=(const CancellableCall&) = delete;

  private:
    CancellableCall(Runtime& runtime, const Graph* part);

    Scope* caller_ = nullptr;
    Scope* part_ = nullptr;
};

/// Returns what call() returns. Where its graph was cancelled meanwhile it throws Cancelled, whatever call() came to.
template <class Call>
auto cancellable(Runtime& runtime, const Call& call) {
    const CancellableCall here(runtime);
    try {
        auto result = call();
        if (runtime.cancelled()) runtime.wait();
        return result;
    } catch (const Cancelled&) {
        throw;
    } catch (...) {  // of data that were not written, or factors that were not made
        if (runtime.cancelled()) runtime.wait();
        throw;
    }
}

}  // namespace basalt::detail
