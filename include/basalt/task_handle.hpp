#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace basalt {

class Runtime;
struct TaskOptions;

namespace detail {

/// Names a task, even after it has completed: the slot it lives in and which of the slot's tenants it is.
/// A slot whose generation has moved on held a task that has completed.
struct TaskRef {
    std::uint32_t slot = none;
    std::uint32_t generation = 0;

    static constexpr std::uint32_t none = 0xffffffff;
    bool valid() const { return slot != none; }
    friend bool operator==(const TaskRef&, const TaskRef&) = default;
};

/// A task that was submitted, and the program order that it entered. Fits into two registers: who drops it pays
/// nothing.
struct Submitted {
    TaskRef task{};
    std::uint64_t order = 0;
};

class TaskGraph;
struct RuntimeLink;
struct HandleAccess;

/// A runtime's place in a table that lives as long as the process, so that a handle can tell that its runtime has
/// ended.
class RuntimePlace {
  public:
    explicit RuntimePlace(Runtime& runtime);
    ~RuntimePlace();
    RuntimePlace(const RuntimePlace&) = delete;
    RuntimePlace& operator=(const RuntimePlace&) = delete;
    /// To be called once, before the first task is submitted.
    void lead_to(const TaskGraph& graph) const;

  private:
    friend struct HandleAccess;

    RuntimeLink* const link_;
    const std::uint32_t tenant_;
};

}  // namespace detail

/// A submitted task. Runtime::submit() returns it; a program that does not need it drops it at no cost.
///
/// A handle is a small value without ownership: it neither keeps the task alive nor what its kernel captured. It stays
/// valid when the task has completed, however many tasks were submitted since. A handle made by TaskHandle() stands for
/// no task and counts as done. So does that of a task that is recorded, see Recording, except that after() and then()
/// take it while the recording is made.
///
/// A handle may outlive its runtime, whose end waits for all tasks: done() is true then, and wait() throws UsageError,
/// because it is no longer known how the task ended. The same holds for a task that a cancelled Graph dropped,
/// once that graph has ended: wait() throws Error.
///
/// Thread-safe: every member function may be called from any thread, but not during the runtime's destructor unless
/// inside a task.
class TaskHandle {
  public:
    TaskHandle() = default;

    /// Whether it stands for a task.
    bool valid() const { return task_.valid(); }
    /// Whether the task and its children have completed, failed or been dropped. What they wrote is visible then.
    bool done() const;

    /// Waits for this task alone, and runs other tasks meanwhile. Throws the task's own error: a TaskError where it
    /// threw, Cancelled where its graph was cancelled before it started, DataError where data that it reads have no
    /// contents, and PredecessorError where a task failed that it follows. The graph's wait() throws that error all the
    /// same.
    ///
    /// Inside a task it waits for tasks that this very task has submitted. UsageError for others unless they are done:
    /// they may be waiting for this task themselves. Give a task that needs another one after(handle) instead. In a
    /// coroutine co_await the handle. UsageError, too, inside a GPU kernel and in a destructor of what a kernel
    /// captured.
    ///
    /// Arrays wrapped around the user's memory are brought home by the wait() of a Runtime or Graph only.
    ///
    /// The runtime remembers the errors of 100,000 tasks. Of a task that may be one of those that it has forgotten,
    /// wait() throws an Error that says so.
    void wait() const;
    /// wait() with a limit, kept as that of Runtime::wait_for(). False when the time ran out first.
    bool wait_for(std::chrono::nanoseconds limit) const;

    /// Submits a task that follows this one: submit(options, after(*this), accesses..., kernel) to the task's runtime,
    /// or to the graph that the calling thread submits to (see SubmitTo).
    template <class F, class... Accesses>
    auto then(const TaskOptions& options, F&& kernel, const Accesses&... accesses) const;

    friend bool operator==(const TaskHandle&, const TaskHandle&) = default;

  private:
    friend struct detail::HandleAccess;

    TaskHandle(detail::RuntimeLink* link, std::uint32_t tenant, const detail::Submitted& submitted)
        : link_(link), tenant_(tenant), task_(submitted.task), order_(static_cast<std::uint32_t>(submitted.order)) {}

    detail::RuntimeLink* link_ = nullptr;
    std::uint32_t tenant_ = 0;  ///< which of the link's runtimes it is
    detail::TaskRef task_{};
    std::uint32_t order_ = 0;  ///< tells the children of one task from other tasks
};

namespace detail {

/// The inside of handles and futures, for the library.
struct HandleAccess {
    static TaskHandle make(const RuntimePlace& place, const Submitted& task) {
        return {place.link_, place.tenant_, task};
    }
    static TaskRef task(const TaskHandle& handle) { return handle.task_; }
    static std::uint32_t order(const TaskHandle& handle) { return handle.order_; }
    /// What the handle of a task is made of that is recorded instead of submitted: it stands for no task that runs.
    static Submitted recorded(std::uint32_t number, std::uint64_t recording) {
        return {{TaskRef::none, number + 1}, recording};
    }
    static bool is_recorded(const TaskHandle& handle) { return !handle.valid() && handle.task_.generation != 0; }
    /// The task's number in that recording; empty for any other task.
    static std::optional<std::uint32_t> number_in(const TaskHandle& handle, std::uint64_t recording) {
        if (!is_recorded(handle) || handle.order_ != static_cast<std::uint32_t>(recording)) return std::nullopt;
        return handle.task_.generation - 1;
    }
    /// Of another task of the same runtime.
    static TaskHandle of_fellow(const TaskHandle& handle, const Submitted& task) {
        return {handle.link_, handle.tenant_, task};
    }
    static bool is_of(const TaskHandle& handle, const RuntimePlace& place) {
        return handle.link_ == place.link_ && handle.tenant_ == place.tenant_;
    }
    /// The runtime; nullptr where it has ended.
    static Runtime* runtime(const TaskHandle& handle);
    /// The tasks of that runtime; nullptr where it has ended.
    static const TaskGraph* graph(const TaskHandle& handle);
    /// The value of a future whose task has completed, or its error.
    template <class Future>
    static auto take(Future& future) {
        return future.take();
    }
    template <class Future>
    static auto take_state(Future& future) {
        return std::move(future.value_);
    }
};

/// Throws UsageError for the handle of a recorded task: a value is delivered once, and a recorded task runs many times.
void refuse_recorded(const TaskHandle& task, const TaskOptions& options);
/// The handle's runtime. Throws UsageError, which names the call, for an empty handle and where the runtime has ended.
Runtime& runtime_of(const TaskHandle& handle, const char* call);

inline const TaskHandle& handle_of(const TaskHandle& handle) { return handle; }
template <class F>
requires requires(const F& future) {
    { future.task() } -> std::same_as<const TaskHandle&>;
}
const TaskHandle& handle_of(const F& future) { return future.task(); }

template <class H>
concept HasHandle = requires(const H& handle) {
    handle_of(handle);
};

/// What after() returns: the tasks to follow.
template <class Storage>
struct After {
    Storage handles;
};

template <class T>
inline constexpr bool is_after = false;
template <class Storage>
inline constexpr bool is_after<After<Storage>> = true;

}  // namespace detail

/// Among the arguments of submit(): the task starts when those of the handles have completed, although it may share no
/// data with them. Handles of tasks that have completed, and empty ones, cost nothing. If one of those tasks fails or
/// is dropped, this one is dropped, whatever graph it belongs to: its graph's wait() throws a PredecessorError, and
/// what it should have written has no contents.
///
/// Handles may be of any graph of the same runtime, and of tasks at any level: a child may follow a sibling, or a task
/// outside. UsageError for a handle of another runtime, and for a child that follows a task around it, which would wait
/// for the child. (A child must not follow a task either that itself waits for one around the child: both would wait
/// for ever, which no look at the handle can tell.)
template <detail::HasHandle... Handle>
auto after(const Handle&... handles) {
    return detail::After<std::array<TaskHandle, sizeof...(Handle)>>{{detail::handle_of(handles)...}};
}
/// The same for a range of handles or futures. A contiguous range of TaskHandles is not copied, and has to live until
/// submit() returns.
template <std::ranges::forward_range R>
requires detail::HasHandle<std::ranges::range_value_t<R>>
auto after(const R& handles) {
    if constexpr (std::ranges::contiguous_range<R> && std::is_same_v<std::ranges::range_value_t<R>, TaskHandle>) {
        return detail::After<std::span<const TaskHandle>>{{std::ranges::data(handles), std::ranges::size(handles)}};
    } else {
        detail::After<std::vector<TaskHandle>> found;
        for (const auto& handle : handles) found.handles.push_back(detail::handle_of(handle));
        return found;
    }
}

}  // namespace basalt
