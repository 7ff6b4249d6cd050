#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <ranges>
#include <string>
#include <utility>

#include "basalt/array.hpp"
#include "basalt/graph.hpp"
#include "basalt/runtime.hpp"

namespace basalt {

enum class RecordedOnGpu : std::uint8_t;

namespace detail {

class RecordedRuns;
struct RecordedState;

/// While it lives, what the calling thread submits to a runtime is recorded.
class RecordingSession {
  public:
    explicit RecordingSession(Runtime& runtime);
    ~RecordingSession();
    RecordingSession(const RecordingSession&) = delete;
    RecordingSession& operator=(const RecordingSession&) = delete;

    /// What was recorded. To be called once.
    std::shared_ptr<RecordedState> finish(RecordedOnGpu on_gpu);

  private:
    struct Inside;
    std::unique_ptr<Inside> inside_;
};

}  // namespace detail

/// How runs of a Recording use a GPU.
enum class RecordedOnGpu : std::uint8_t {
    submitted,  ///< each run submits copies of the tasks
    captured,   ///< a run is one CUDA graph, where that is possible: see Recording
};

/// A task graph that is recorded once and runs many times, also on other data. Running it costs a fraction of
/// submitting its tasks: what they wait for is known.
///
///     basalt::Recording step(rt, [&] { factor_tiles(rt, tiles); });   // submits as ever; runs nothing
///     step.run();                                                     // as if factor_tiles() submitted now
///     step.bind(tiles, others);
///     step.run();                                                     // the same tasks on `others`
///     rt.wait();
///
/// **Recording.** The function that is given to the constructor submits tasks to the runtime from the calling thread,
/// with Runtime::submit(). They do not run. Kernels are moved into the recording and called once in each run, so what
/// they captured is shared by all runs. Whatever else the function does, it does at once and only then: an array that
/// it makes is made once. Refused with a UsageError are wait(), host_view(), prefetch(), broadcast() and copies, using
/// a Graph or another Recording, and tasks on matrices, which includes lu_factor() and the like; further reduce(),
/// whose copies would belong to one run, and kernels that return a value or a Routine, since a value is delivered once.
/// What other threads submit meanwhile is not recorded.
///
/// The handle that submit() returns stands for the recorded task: after() and then() take it until the recording is
/// made, and those of no other tasks. If a task fails or does not run, those that follow it by after() do not run in
/// that run either.
///
/// Blocks of arrays, Array2D and lists, ranges, tokens and objects are recorded like arrays. No two data of a recording
/// may have elements in common: an array that is cut is used as a whole or in blocks of one partition. Between runs it
/// may be used and cut as ever.
///
/// **Running.** run() returns at once; wait(), Graph::wait() and reading the data wait for it as for tasks. A run has
/// its place in the program order: dependencies hold between its tasks and those submitted before and after, by
/// region as far as it uses no more than 16 different regions of an array. As one unit it begins when all of them are
/// free, and its regions are free when all of it is done. Runs of one recording never overlap, whatever their data.
/// Inside a run, tasks with larger priority go first, tasks that commute run in the order in which they were recorded,
/// and an array that a task overwrites is not renamed. Errors, cancel() and data without contents are as with submitted
/// tasks, and concern the graph in which it runs. A recorded task may submit children.
///
/// **The ordinary way.** Where some recorded task may run on a GPU or is a gang, and when run() is called inside a
/// task, run() submits copies of the tasks one by one. Results are the same; it costs as much as submitting. A kernel
/// may be called for two runs at the same time then, if their data allow it.
///
/// **Captured.** With RecordedOnGpu::captured, if all tasks have Place::gpu(g) for one g, a run is one task on that
/// GPU. The first run calls the cuda kernels one after the other; the next one has CUDA capture what they enqueue, and
/// further runs only launch that, at about a microsecond a kernel. (Not where columns have gaps between them in the
/// host's memory, as those of most blocks do: such runs submit their tasks.) So the host code of the kernels must do
/// the same in each run. It is called again where data lie at other addresses, after bind() for instance, except for
/// the last four sets of addresses. For errors, cancel() and lost contents a run counts as one task. Kernels that
/// cannot be captured (they call Stream::scratch() or allocate memory, say) run as in the first run. Traces, hooks and
/// statistics by name have runs submit their tasks instead, so that these are seen; so do missing contents of any data.
///
/// A Recording may be destroyed while it runs: its kernels are destroyed after its last run. It may outlive its runtime
/// and its arrays: run() throws a UsageError then. Thread-safe: runs and binds of several threads are serialised in the
/// order in which they take a lock.
class Recording {
  public:
    /// Calls `submits()`. Throws what that throws, and UsageError inside a task or while another Recording is made for
    /// the same runtime.
    template <class F>
    Recording(Runtime& runtime, F&& submits, RecordedOnGpu on_gpu = RecordedOnGpu::submitted) {
        detail::RecordingSession session(runtime);
        std::forward<F>(submits)();
        state_ = session.finish(on_gpu);
    }
    Recording(Recording&&) noexcept = default;
    Recording& operator=(Recording&&) noexcept = default;
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    ~Recording();

    /// Number of recorded tasks.
    std::size_t size() const;
    /// Runs that launched a CUDA graph, or on an emulated GPU what would have been one, so far.
    std::uint64_t captured_runs() const;

    /// Runs the tasks once, in the graph that the calling thread submits to. Blocks only to bound the number of tasks
    /// in flight (Config::window, but at least two runs). Throws UsageError after the end of the runtime, for arrays
    /// that were released, and where two arrays of the recording are bound to the same one or to some that have
    /// elements in common; what submit() throws for tasks on GPUs.
    void run();
    /// The same in that graph.
    void run(const Graph& graph) {
        const SubmitTo here(graph);
        run();
    }

    /// Runs from now on use `other` where the recorded tasks use `recorded`, an array or block that some recorded task
    /// accesses; bind(recorded, recorded) undoes that. Both have equal shapes, distances between columns and sizes of
    /// elements, and belong to the same runtime: UsageError otherwise. Kernels learn of it through their views or
    /// addresses; a pointer that a kernel has captured does not change.
    template <HasRegion D, HasRegion E>
    void bind(const D& recorded, const E& other) {
        bind_region(recorded.region(), other.region());
    }
    /// The same for each pair of arrays or blocks in two ranges of equal length.
    template <RegionRange R, RegionRange S>
    requires(HasRegion<std::ranges::range_value_t<R>>&& HasRegion<std::ranges::range_value_t<S>>) void bind(
        const R& recorded, const S& others) {
        check_lengths(static_cast<std::size_t>(std::ranges::size(recorded)),
                      static_cast<std::size_t>(std::ranges::size(others)));
        auto other = std::ranges::begin(others);
        for (const auto& array : recorded) bind(array, *other++);
    }

  private:
    template <class T>
    void bind_region(const Region<T>& recorded, const Region<T>& other) {
        bind_data(detail::make_access<T>(recorded, AccessMode::readwrite).record,
                  detail::make_access<T>(other, AccessMode::readwrite).record);
    }
    void bind_data(const detail::AccessRecord& recorded, const detail::AccessRecord& other);
    static void check_lengths(std::size_t recorded, std::size_t others);

    std::shared_ptr<detail::RecordedState> state_;
};

}  // namespace basalt
