#include "basalt/span.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "base/process.hpp"
#include "runtime/graph/thread_context.hpp"
#include "runtime/trace/trace_recorder.hpp"

namespace basalt {

namespace detail {

namespace {

std::shared_mutex traces_lock;

/// The traces of the process's runtimes that are being recorded. Threads that record hold the lock shared, so that a
/// trace ends only when none of them writes to it.
struct ActiveTraces {
    static ActiveTraces& instance() {
        static auto* const traces = make();  // never destroyed: static objects may have spans
        return *traces;
    }
    std::vector<TraceRecorder*> recorders;  ///< guarded by traces_lock

  private:
    static ActiveTraces* make() {
        hold_during_fork<traces_lock>();
        pthread_atfork(nullptr, nullptr, leave_in_child);
        return new ActiveTraces;
    }
    /// Recorders may be in the middle of something.
    static void leave_in_child();
};

/// How many recorders are active. Relaxed: a thread that learns late misses a span.
std::atomic<int> active_traces{0};

void ActiveTraces::leave_in_child() {
    instance().recorders.clear();
    active_traces.store(0, std::memory_order_relaxed);
}

/// visit(recorder, place) for the traces that what the calling thread does belongs to: that of the runtime whose task
/// it runs, or else all.
template <class F>
void for_each_trace(const F& visit) {
    const ThreadContext* context = ThreadContext::innermost();
    if (context != nullptr && context->task() == nullptr) context = nullptr;
    std::optional<int> place;
    if (context != nullptr && context->worker() != nullptr) place = context->worker()->place;
    ActiveTraces& traces = ActiveTraces::instance();
    const std::shared_lock guard(traces_lock);
    for (TraceRecorder* recorder : traces.recorders) {
        if (context == nullptr || recorder->is_of(context->graph())) visit(*recorder, place);
    }
}

}  // namespace

void TraceRecorder::start() {
    if (enabled_.exchange(true, std::memory_order_relaxed)) return;
    ActiveTraces& traces = ActiveTraces::instance();
    const std::lock_guard guard(traces_lock);
    traces.recorders.push_back(this);
    active_traces.fetch_add(1, std::memory_order_relaxed);
}

TraceRecorder::~TraceRecorder() {
    if (!enabled()) return;
    ActiveTraces& traces = ActiveTraces::instance();
    const std::lock_guard guard(traces_lock);
    std::erase(traces.recorders, this);
    active_traces.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace detail

Span::Span(TaskName name)
    : name_(name.c_str()),
      begin_ns_(detail::active_traces.load(std::memory_order_relaxed) > 0 ? detail::TraceRecorder::now() : 0) {}

Span::~Span() {
    if (begin_ns_ == 0) return;
    const std::int64_t end = detail::TraceRecorder::now();
    detail::for_each_trace([&](detail::TraceRecorder& recorder, std::optional<int> place) {
        recorder.record_span(place, name_, begin_ns_, end);
    });
}

void counter(TaskName name, double value) {
    if (detail::active_traces.load(std::memory_order_relaxed) == 0) return;
    const std::int64_t now = detail::TraceRecorder::now();
    detail::for_each_trace([&](detail::TraceRecorder& recorder, std::optional<int>) {
        recorder.record_counter(name.c_str(), now, value);
    });
}

}  // namespace basalt
