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

std::string shape_of(Index rows, std::size_t element_size) {
    return std::to_string(rows) + " elements of " + std::to_string(element_size) + " bytes";
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
    if (other.datum->rows != datum.rows || other.datum->cols != datum.cols ||
        other.datum->element_size != datum.element_size) {
        throw UsageError("Recording::bind('" + datum.name + "', '" + detail::label_of(other) + "'): '" +
                         detail::label_of(other) + "' has " +
                         detail::shape_of(other.datum->rows, other.datum->element_size) + "; allowed are " +
                         detail::shape_of(datum.rows, datum.element_size) + ", as '" + datum.name + "' has");
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
