#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "basalt/access.hpp"
#include "basalt/error.hpp"
#include "basalt/team.hpp"
#include "basalt/trace.hpp"

namespace basalt {

/// What a Runtime is made of; the defaults use the whole machine.
struct Config {
    /// Threads that run tasks, counting a thread that waits. 0: one for each core that the affinity mask
    /// and the cgroup's CPU quota allow.
    int workers = 0;
    /// "priority" (work stealing by priority) or "fifo". See scheduler_names().
    std::string scheduler = "priority";
    /// Tasks of one submitting scope in flight before its submitter stops to help. At least 1.
    std::size_t window = 4096;
    /// Bind workers to cores.
    bool bind = true;
    /// Record a trace from the start; see Runtime::take_trace().
    bool trace = false;

    static constexpr int most_workers = 1024;
    static constexpr std::size_t most_window = std::size_t{1} << 22;

    /// The defaults, with BASALT_WORKERS, BASALT_SCHEDULER, BASALT_WINDOW and BASALT_BIND of the environment in
    /// their place. Unknown BASALT_ names and values that are not allowed are logged as warnings and ignored.
    static Config from_environment();
};

/// The policies that Config::scheduler may name.
const std::vector<std::string>& scheduler_names();

/// A task's name: a string literal, or an interned copy of any string (kept until the program ends).
class TaskName {
  public:
    // NOLINTNEXTLINE(google-explicit-constructor): TaskOptions{.name = "axpy"} is the point
    consteval TaskName(const char* literal) : text_(literal) {}
    static TaskName intern(std::string_view text);
    constexpr const char* c_str() const { return text_; }

  private:
    struct Interned {};
    constexpr TaskName(const char* text, Interned) : text_(text) {}
    const char* text_;
};

/// How many threads run a gang task: all members enter at once. min is clamped to the workers there are; a gang
/// submitted inside a gang takes the threads that happen to be free, perhaps only one, since its fellows
/// may be standing at a barrier until it is done.
struct Threads {
    int min = 1;
    int max = 1;
};

struct TaskOptions {
    TaskName name = "task";
    /// Larger runs earlier among ready tasks.
    int priority = 0;
    /// More than one makes the task a gang: its kernel takes a Team first.
    Threads threads = {};
    /// Shown in traces and errors; -1 is left out.
    std::array<int, 3> tile = {-1, -1, -1};
};

/// Counts since the runtime started, for tests and tuning. Exact when nothing is in flight.
struct Statistics {
    std::uint64_t tasks = 0;        ///< tasks submitted by the user
    std::uint64_t edges = 0;        ///< dependencies recorded on tasks that had not completed
    std::uint64_t dropped = 0;      ///< dependencies found redundant: repeated or implied by another one
    std::uint64_t sync_nodes = 0;   ///< internal nodes that stand for many readers
    std::uint64_t renamed = 0;      ///< write-only accesses that got fresh storage instead of waiting
};

class Runtime;

namespace detail {

class Engine;

/// The type-erased kernel of a task: how to move it into the task, run it and destroy it.
struct KernelOps {
    std::size_t size;
    std::size_t align;
    /// Moves the closure from `source` to `storage`; bases[i] is the address of access i's datum.
    void (*construct)(void* storage, void* source, void* const* bases);
    void (*run)(void* storage, const Team& team);
    void (*destroy)(void* storage) noexcept;  ///< nullptr when there is nothing to destroy
    bool binds_views;                         ///< the kernel learns its data's addresses through `bases`
};

void submit(Engine& engine, const TaskOptions& options, const AccessRecord* records, std::size_t count,
            const KernelOps& ops, void* source);

/// A kernel and the views it gets. Stored in the task.
template <class F, class... Element>
struct BoundKernel {
    [[no_unique_address]] F function;
    std::tuple<View<Element>...> views;

    void operator()(const Team& team) {
        std::apply(
            [&](const View<Element>&... view) {
                if constexpr (std::is_invocable_v<F&, const Team&, View<Element>...>) {
                    function(team, view...);
                } else {
                    function(view...);
                }
            },
            views);
    }
};

/// A kernel that takes no views: with or without a Team.
template <class F>
struct PlainKernel {
    F function;
    void operator()(const Team& team) {
        if constexpr (std::is_invocable_v<F&, const Team&>) {
            function(team);
        } else {
            function();
        }
    }
};

template <class F, class... Element>
struct Submission {
    F function;
    std::tuple<Access<Element>...> accesses;
};

template <class F, class... Element>
inline constexpr bool takes_views = std::is_invocable_v<F&, View<Element>...> ||
                                    std::is_invocable_v<F&, const Team&, View<Element>...>;
template <class F>
inline constexpr bool takes_nothing = std::is_invocable_v<F&> || std::is_invocable_v<F&, const Team&>;

template <class Kernel>
inline void run_kernel(void* storage, const Team& team) {
    (*std::launder(static_cast<Kernel*>(storage)))(team);
}
template <class Kernel>
inline void destroy_kernel(void* storage) noexcept {
    std::launder(static_cast<Kernel*>(storage))->~Kernel();
}
template <class Kernel>
inline constexpr auto kernel_destroyer = std::is_trivially_destructible_v<Kernel> ? nullptr : &destroy_kernel<Kernel>;

template <class F>
struct PlainOps {
    using Kernel = PlainKernel<F>;
    static void construct(void* storage, void* source, void* const*) {
        ::new (storage) Kernel{std::move(*static_cast<F*>(source))};
    }
    static constexpr KernelOps ops{sizeof(Kernel),     alignof(Kernel),          construct,
                                   run_kernel<Kernel>, kernel_destroyer<Kernel>, false};
};

template <class F, class... Element>
struct BoundOps {
    using Kernel = BoundKernel<F, Element...>;
    using Source = Submission<F, Element...>;
    template <std::size_t... I>
    static void bind(void* storage, Source& source, void* const* bases, std::index_sequence<I...>) {
        ::new (storage) Kernel{std::move(source.function), {std::get<I>(source.accesses).view(bases[I])...}};
    }
    static void construct(void* storage, void* source, void* const* bases) {
        bind(storage, *static_cast<Source*>(source), bases, std::index_sequence_for<Element...>{});
    }
    static constexpr KernelOps ops{sizeof(Kernel),     alignof(Kernel),          construct,
                                   run_kernel<Kernel>, kernel_destroyer<Kernel>, true};
};

}  // namespace detail

/// A task-graph runtime: submit tasks in program order, and it finds the order of execution.
///
/// Tasks run in parallel as far as their accesses allow: hazards (read after write, write after read, write
/// after write) follow the program order of the submitting scope. A scope is what runs one stream of
/// submissions: all threads outside tasks together, or one running task, whose submissions are its children.
/// A task's children may only access subsets of what the task itself accesses (or data made inside it); the
/// task completes when its children have.
///
/// Thread-safety: every member function may be called from any thread at any time, except the destructor.
/// Submissions of several threads outside tasks are serialised in the order in which they take a lock.
class Runtime {
  public:
    /// Starts the workers of the whole machine, or what the environment asks for.
    Runtime() : Runtime(Config::from_environment()) {}
    /// Starts the workers. Throws UsageError when a setting is out of range, naming it.
    explicit Runtime(const Config& config);
    /// Waits for everything submitted. An error that no wait() has seen is logged, not thrown.
    ~Runtime();
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    /// Submits a task: options, any number of accesses, and last its kernel. Returns at once, or after
    /// helping when the window is full.
    ///
    /// The kernel is called as f(views...), f(team, views...), f() or f(team): views in the order of the
    /// accesses, a `const Team&` first in a gang. It is moved into the task. An exception it throws cancels
    /// what has not started of its graph and is rethrown by wait() as a TaskError.
    /// Throws UsageError when an access is not allowed here.
    template <class... Args>
    void submit(const TaskOptions& options, Args&&... args) {
        static_assert(sizeof...(Args) > 0, "submit(options, accesses..., kernel): the kernel is missing");
        submit_tuple(options, std::forward_as_tuple(std::forward<Args>(args)...),
                     std::make_index_sequence<sizeof...(Args) - 1>{});
    }

    /// The same with a list of any length; the kernel takes no views: f() or f(team).
    template <class List, class F>
        requires std::is_same_v<std::remove_cvref_t<List>, AccessList>
    void submit(const TaskOptions& options, List&& list, F&& kernel) {
        using Function = std::decay_t<F>;
        static_assert(detail::takes_nothing<Function>,
                      "a kernel submitted with an AccessList takes () or (const Team&)");
        Function function(std::forward<F>(kernel));
        detail::submit(*engine_, options, list.records().data(), list.records().size(),
                       detail::PlainOps<Function>::ops, &function);
    }

    /// Waits until nothing submitted is in flight, running tasks meanwhile. Inside a task: until its children
    /// have completed. Rethrows the first error of the graph (a TaskError), or Cancelled after cancel();
    /// the runtime is usable afterwards.
    void wait();

    /// wait() with a limit. False when the time ran out first; tasks go on.
    bool wait_for(std::chrono::nanoseconds limit);

    /// Drops every task that has not started; running tasks finish. wait() then throws Cancelled.
    void cancel();

    /// Inside a task: whether its graph was cancelled, so that a long kernel may stop early.
    bool cancelled() const;

    int workers() const;
    const Config& config() const;
    Statistics statistics() const;

    void start_trace();
    /// What was recorded since start_trace() (or the last call); call it when nothing is in flight.
    Trace take_trace();

    detail::Engine& engine() { return *engine_; }

  private:
    template <class Tuple, std::size_t... I>
    void submit_tuple(const TaskOptions& options, Tuple&& args, std::index_sequence<I...>) {
        submit_bound(options, std::get<sizeof...(I)>(std::forward<Tuple>(args)), std::get<I>(args)...);
    }

    template <class F, class... Element>
    void submit_bound(const TaskOptions& options, F&& kernel, const Access<Element>&... access) {
        using Function = std::decay_t<F>;
        const std::array<detail::AccessRecord, sizeof...(Element)> records{access.record...};
        if constexpr (sizeof...(Element) > 0 && detail::takes_views<Function, Element...>) {
            detail::Submission<Function, Element...> source{std::forward<F>(kernel), {access...}};
            detail::submit(*engine_, options, records.data(), records.size(),
                           detail::BoundOps<Function, Element...>::ops, &source);
        } else {
            static_assert(detail::takes_nothing<Function>,
                          "the kernel takes neither the views of its accesses nor nothing");
            Function function(std::forward<F>(kernel));
            detail::submit(*engine_, options, records.data(), records.size(),
                           detail::PlainOps<Function>::ops, &function);
        }
    }

    std::unique_ptr<detail::Engine> engine_;
};

}  // namespace basalt
