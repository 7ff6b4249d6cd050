#include "basalt/recording.hpp"

#include <string>

#include "runtime/engine/recorded_runs.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "runtime/graph/access_binding.hpp"

namespace basalt {

namespace detail {

struct RecordingSession::Inside {
    explicit Inside(RecordedRuns& runs)
        : runs(runs),
          scope(runs.check_may_record()),
          recorder(runs.recorder()),
          target(std::make_unique<SubmissionTarget>(runs.graph(), scope, &recorder)) {}

    RecordedRuns& runs;
    Scope& scope;
    Recorder recorder;
    std::unique_ptr<const SubmissionTarget> target;  ///< empty when nothing is recorded any more
};

RecordingSession::RecordingSession(Runtime& runtime) : inside_(std::make_unique<Inside>(recorded_runs(runtime))) {}
RecordingSession::~RecordingSession() = default;

std::shared_ptr<RecordedState> RecordingSession::finish(RecordedOnGpu on_gpu) {
    inside_->target.reset();
    return inside_->runs.keep(inside_->recorder.finish(), on_gpu);
}

namespace {

const std::string& label_of(const AccessRecord& record) { return record.datum->name; }

/// Of a Datum or RecordedDatum.
template <class D>
std::string shape_of(const D& datum) {
    const std::string of_bytes = " elements of " + std::to_string(datum.element_size) + " bytes";
    if (!datum.by_columns) return std::to_string(datum.rows * datum.cols) + of_bytes;
    return std::to_string(datum.cols) + " x " + std::to_string(datum.rows) + of_bytes + " with columns " +
           std::to_string(datum.ld) + " apart";
}
template <class D, class E>
bool equal_shapes(const D& a, const E& b) {
    return a.rows == b.rows && a.cols == b.cols && a.by_columns == b.by_columns && (!a.by_columns || a.ld == b.ld) &&
           a.element_size == b.element_size;
}

void check_runtime(const RecordedState& state, const char* what) {
    state.mark.require_current("the Recording");
    if (!state.runtime_ended->load(std::memory_order_acquire)) return;
    throw UsageError(std::string(what) + ": the recording's runtime has ended");
}

}  // namespace

}  // namespace detail

Recording::~Recording() = default;

std::size_t Recording::size() const { return state_ ? state_->recorded->tasks.size() : 0; }

std::uint64_t Recording::captured_runs() const { return state_ && state_->captured ? state_->captured->launches() : 0; }

void Recording::run() {
    if (!state_) throw UsageError("Recording::run(): the recording was moved from");
    detail::check_runtime(*state_, "Recording::run()");
    state_->runs.run(*state_);
}

void Recording::bind_data(const detail::AccessRecord& recorded, const detail::AccessRecord& other) {
    if (!state_) throw UsageError("Recording::bind(): the recording was moved from");
    detail::check_runtime(*state_, "Recording::bind()");
    detail::RecordedState& state = *state_;
    detail::check_region(*state.runtime, state.runs.graph().root(), other);
    const std::lock_guard guard(state.lock);
    const auto known = state.numbers.find(recorded.datum);
    if (known == state.numbers.end() || state.recorded->data[known->second].generation != recorded.generation) {
        const bool named = recorded.datum != nullptr && recorded.datum->is(recorded.generation);
        throw UsageError("Recording::bind(): no recorded task accesses " +
                         (named ? "'" + detail::label_of(recorded) + "'" : std::string("the first array")) +
                         "; allowed is an array that one does");
    }
    const detail::RecordedDatum& datum = state.recorded->data[known->second];
    if (!detail::equal_shapes(datum, *other.datum)) {
        throw UsageError("Recording::bind('" + datum.name + "', '" + detail::label_of(other) + "'): '" +
                         detail::label_of(other) + "' has " + detail::shape_of(*other.datum) + "; allowed are " +
                         detail::shape_of(datum) + ", as '" + datum.name + "' has");
    }
    state.bindings[known->second] = {other.datum, other.generation};
    state.checked = false;
}

void Recording::check_lengths(std::size_t recorded, std::size_t others) {
    if (recorded == others) return;
    throw UsageError("Recording::bind(): ranges of " + std::to_string(recorded) + " and " + std::to_string(others) +
                     " arrays; allowed are equal numbers");
}

}  // namespace basalt
