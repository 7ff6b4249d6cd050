#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "basalt/access.hpp"
#include "basalt/config.hpp"
#include "basalt/device.hpp"
#include "basalt/error.hpp"
#include "basalt/factor_mode.hpp"
#include "basalt/future.hpp"
#include "basalt/kernel_ops.hpp"
#include "basalt/loop.hpp"
#include "basalt/submit_call.hpp"
#include "basalt/task_handle.hpp"
#include "basalt/task_options.hpp"
#include "basalt/trace.hpp"

namespace basalt {

struct RunCase;  // run_models.hpp
struct RunEstimate;
struct Tuning;  // tuning.hpp

/// The tasks of one name, since the runtime started.
struct TaskStatistics {
    /// Kernels that ran in one kind of place.
    struct At {
        std::uint64_t count = 0;
        double seconds = 0;
    };

    std::string name;
    std::uint64_t count = 0;   ///< tasks that ran; of a gang, one
    std::uint64_t failed = 0;  ///< of them, those whose kernel threw or whose work on a GPU failed
    /// Tasks that did not run: their graph was cancelled, or their data have no contents.
    std::uint64_t cancelled = 0;
    /// From the begin of a kernel to its end, without other tasks that ran while it waited. On a GPU, the time of its
    /// stream, or about that where the device does not tell.
    double total_seconds = 0;
    double min_seconds = 0;
    double max_seconds = 0;
    At cores;
    std::vector<At> gpus;  ///< by number

    double mean_seconds() const { return count == 0 ? 0 : total_seconds / static_cast<double>(count); }
};

/// Counts since the runtime started, for tests and tuning. Exact when nothing is in flight.
struct Statistics {
    std::uint64_t tasks = 0;       ///< tasks submitted by the user
    std::uint64_t edges = 0;       ///< dependencies recorded on tasks that had not completed
    std::uint64_t dropped = 0;     ///< dependencies found redundant: repeated or implied by another one
    std::uint64_t sync_nodes = 0;  ///< internal nodes that stand for many readers
    std::uint64_t renamed = 0;     ///< write-only accesses that got fresh storage instead of waiting
    /// Peak number of bytes that data and scratch memory occupied in one GPU's memory, for the GPU with the highest
    /// peak. Memory of the user does not count.
    std::uint64_t most_gpu_bytes = 0;
    /// With Config::statistics, the tasks of each name, in alphabetical order. Otherwise empty.
    std::vector<TaskStatistics> by_name;
};

class PinnedMemory;  // pinned_memory.hpp
class Token;         // token.hpp

namespace detail {

struct RuntimeAccess;

}  // namespace detail

/// A task-graph runtime: submit tasks in program order, and it finds the order of execution.
///
/// Tasks run in parallel as far as their accesses allow: hazards (read after write, write after read, write
/// after write) follow program order. All threads outside tasks share one program order; a running task has one of its
/// own, and what it submits are its children. A task's children may only access subsets of what the task itself
/// accesses (or data made inside it); the task completes when its children have. Children run before tasks of lower
/// levels that are ready, whatever their priorities; among tasks of one level priorities decide.
///
/// What is submitted outside tasks belongs to the runtime's own graph, which all threads share, or to a Graph (see
/// graph.hpp). A graph is waited for, cancelled and fails as a whole. What depends on a failed or cancelled task does
/// not run, in whatever graph it is, until a task overwrites the data: wait() throws a DataError there.
///
/// A task runs on a thread of the runtime or of one that waits. It must not end that thread: pthread_exit() in a kernel
/// logs the task's name and calls std::terminate().
///
/// Ends of the process. std::exit(), in a kernel or elsewhere, and the end of main(): if tasks are in flight, none
/// begins any more, which is said on standard error. Kernels that run on other cores get a second to end; those on GPUs
/// are not waited for. All runtimes, arrays, matrices and graphs are left behind then: their destructors do nothing, in
/// whatever order static objects are destroyed, other uses throw UsageError, and other threads that use them do not go
/// on. A program that wants its results calls wait(). std::quick_exit(), _exit() and exec end the process at once.
///
/// fork(): in the child process, the runtimes of the parent, their arrays, matrices and graphs are left behind in the
/// same way: each use throws UsageError, apart from workers(), gpus(), devices(), config() and tuning(). A new Runtime
/// works; with real GPUs only if the parent had not used CUDA, which does not support fork(). A kernel that forks has
/// the child end by exec, _exit() or exit(): if the kernel returns there, the child ends by std::terminate().
///
/// Thread-safety: every member function may be called from any thread at any time, except the destructor.
/// Submissions of several threads outside tasks are serialised in the order in which they take a lock.
class Runtime {
  public:
    /// Uses the whole machine, or the settings of the environment (Config::from_environment()).
    Runtime() : Runtime(Config::from_environment()) {}
    /// Starts the workers. Throws UsageError, which names the setting, if one is out of range.
    explicit Runtime(const Config& config);
    /// Waits for everything submitted, then releases the arrays and matrices that outlive the runtime (see Array). Does
    /// nothing where the runtime was left behind (see above). An
    /// error that no wait() has seen is logged, not thrown. Inside one of the runtime's tasks, or in a destructor of
    /// what a kernel captured, it logs the task's name and calls std::terminate(): the thread would wait for itself,
    /// and a destructor has no other way to refuse.
    ~Runtime();
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    /// Submits a task: options, any number of accesses, and last its kernels: one for CPU cores, one for GPUs (marked
    /// by cuda()), or both in this order.
    ///
    /// An access is read(x), write(x), readwrite(x) or commute(x), where x is an array, a region, or a range of those
    /// such as a std::vector<Array<double>>, or reduce(x, identity, combine), where x is an array or a region. The
    /// kernel gets a View for an array or region and Views, a std::span of them, for a range, and nothing for a Token.
    /// A View is passed by value: children that use it after the kernel has returned capture a copy, not a reference.
    /// Among the accesses, after(handles...) names tasks to follow.
    ///
    /// The CPU kernel is called as f(views...), f(team, views...), f() or f(team), the cuda kernel as g(stream,
    /// views...) or g(stream): views in the order of the accesses. A `const Team&` is passed only to kernels that
    /// cannot be called without: a gang's generic kernel names it, as in [](const Team& team, auto... views). Kernels
    /// are moved into the task. options.place says where the task runs; its data are copied there before. If a kernel
    /// throws, all tasks of its graph that have not started are cancelled, and wait() rethrows the exception as a
    /// TaskError. From then on, and after cancel(), submitted tasks are dropped until the next wait(). A cuda kernel
    /// must not submit tasks and must not wait.
    ///
    /// Returns a TaskHandle, or a Future<T> for a CPU kernel that returns a T. Such a task is no gang and has no cuda
    /// kernel. A kernel that returns a Routine is a coroutine (see routine.hpp).
    ///
    /// In place of accesses there may be one AccessList, of data that differ in type. The kernels take no views then
    /// but nothing or the list's Addresses: f(), f(team), f(addresses), f(team, addresses); g(stream), g(stream,
    /// addresses).
    ///
    /// Once earlier tasks have left their memory, a task with up to 64 accesses takes none from the system, whether
    /// they are typed, in ranges or in a list, unless its kernel has more than about 1 KiB or allocates itself. A list
    /// that is cleared and filled again keeps its memory; a new list for each task takes some.
    ///
    /// Returns at once while fewer tasks are in flight than Config::window. Otherwise the calling thread first runs
    /// other tasks. It also runs the task itself if that waits for nothing, all other workers have dozens of ready
    /// tasks and tasks have lately taken less than a microsecond. So a mutex that tasks lock must not be held over
    /// submit(), and a task must not wait for what its submitter does after submit(), unless Config::window is 0.
    ///
    /// Throws UsageError when an access or place is not allowed here: for data that were released or belong to another
    /// Runtime, a gang on a GPU, or a GPU that does not exist. Throws DeviceError when the data of a GPU task can never
    /// fit into its memory.
    template <class... Args>
    auto submit(const TaskOptions& options, Args&&... args) {
        return detail::SubmitCall(*engine_, place_, options)(std::forward<Args>(args)...);
    }

    /// Submits a loop as one task, which several workers run: f(i, views...) for each i of the range, or f(chunk,
    /// views...) with an IndexRange for f that takes one. Returns at once, with a TaskHandle. The accesses, which may
    /// contain after(), say what the whole loop touches. Threads call f at the same time and take chunks of `grain`
    /// indices, in no order; grain 0: about 32 chunks a worker, all of one size but the last. An empty range is a task
    /// that does nothing.
    ///
    /// What f throws ends the loop: no thread takes another chunk, and the task fails as if its kernel had thrown. When
    /// the graph is cancelled, the loop ends after the chunks that have begun. Throws UsageError for a range whose end
    /// lies before its begin and for a negative grain. options.threads is not used.
    template <class F, class... Accesses>
    TaskHandle submit_for(const TaskOptions& options, IndexRange range, Index grain, F&& f, Accesses&&... accesses) {
        return submit(
            options, std::forward<Accesses>(accesses)...,
            detail::LoopKernel<Runtime, std::decay_t<F>>(*this, options.name, range, grain, std::forward<F>(f)));
    }
    /// The same loop, and waits for it; the calling thread takes part if it is outside tasks or no other thread is
    /// faster. Throws what wait() would throw.
    ///
    /// Outside tasks the loop is a graph of its own: an error or a cancel() within is the loop's alone. Inside a task
    /// it is a child: an error cancels the task's other children, and is thrown when all of them have ended. Loops may
    /// be nested. Throws UsageError in a coroutine, which can co_await submit_for() instead.
    template <class F, class... Accesses>
    void parallel_for(IndexRange range, Index grain, F&& f, Accesses&&... accesses) {
        detail::run_and_wait(*this, [&] {
            return submit_for({.name = "parallel_for"}, range, grain, std::ref(f), std::forward<Accesses>(accesses)...);
        });
    }

    /// Submits a task for each chunk of `grain` indices (0: about 32 chunks a worker), with accesses of the chunk's
    /// own, so that each waits for its own data alone and may run on another GPU:
    ///
    ///     rt.submit_chunks({.name = "scale"}, {0, n}, 1000,
    ///                      [&](IndexRange c) { return std::tuple(read(x.rows(c.begin, c.end)), write(y[c.begin])); },
    ///                      [](IndexRange chunk, View<const double> x, View<double> y) { ... });
    ///
    /// accesses_of(chunk) returns an access, a std::tuple of accesses, of which one may be after(), or an AccessList; a
    /// range that read(range) refers to must outlive the call. The kernels are copied into each task and called as
    /// f(i, views...) for each index of the chunk or as f(chunk, views...), the cuda kernel as g(stream, chunk,
    /// views...). Returns the handles in the order of the chunks. Throws what submit_for() and submit() throw; chunks
    /// that were submitted before stay so.
    template <class AccessesOf, class... Kernels>
    std::vector<TaskHandle> submit_chunks(const TaskOptions& options, IndexRange range, Index grain,
                                          const AccessesOf& accesses_of, const Kernels&... kernels) {
        return detail::submit_chunks(*this, options, range, grain, accesses_of, kernels...);
    }

    /// See Token. `name`, which is copied, appears in errors. (Include basalt/token.hpp.)
    inline Token token(const char* name = nullptr);

    /// Copies the data to a GPU, or back to the host, before a task needs them there. `priority` and `step` are those
    /// of the copies, as in TaskOptions. Does nothing inside a task. Throws UsageError for Place::any(), a GPU that
    /// does not exist, and data that submit() would refuse: empty arrays, released ones and those of other runtimes.
    template <class T>
    void prefetch(const Region<T>& region, Place place, int priority = 0, std::optional<int> step = std::nullopt) {
        prefetch(read(region).record, place, priority, step);
    }
    template <HasRegion D>
    void prefetch(const D& data, Place place, int priority = 0, std::optional<int> step = std::nullopt) {
        prefetch(data.region(), place, priority, step);
    }
    /// Copies the data to all GPUs, from one to the next: by copy engines, or by kernels if the GPUs have nothing to
    /// compute. Does nothing without GPUs.
    template <class T>
    void broadcast(const Region<T>& region, int priority = 0, std::optional<int> step = std::nullopt) {
        broadcast(read(region).record, priority, step);
    }

    /// The data give up their memory on a GPU behind the tasks submitted so far. Contents that are nowhere else go to
    /// the host first. Does nothing where there are none, and inside a task. Throws UsageError as prefetch() does, and
    /// for Place::cpu().
    template <class T>
    void evict(const Region<T>& region, Place gpu) {
        evict(read(region).record, gpu);
    }
    template <HasRegion D>
    void evict(const D& data, Place gpu) {
        evict(data.region(), gpu);
    }
    /// The program does not need the contents of an array or block any more, behind the tasks submitted so far: no copy
    /// of them is made, and GPUs give up those that they hold. Tasks that read the data do not run, and host_view()
    /// throws DataError, until a task with write() or host_overwrite() has made new contents. Returns at once. Throws
    /// UsageError for released data and those of other runtimes, and inside a task that did not make the data.
    template <HasRegion D>
    void invalidate(const D& data) {
        invalidate(read(data.region()).record);
    }
    /// Has GPUs copy to and from memory of the program's own, such as that of wrapped arrays, at full speed and without
    /// staging. It takes about as long as one copy of the memory. Does nothing without GPUs and for memory that is
    /// pinned already. Throws UsageError for a null pointer, DeviceError if the system refuses.
    PinnedMemory pin(void* memory, std::size_t bytes);

    /// Waits until all submitted tasks have completed, and runs tasks meanwhile. Inside a task: until its children have
    /// completed. Rethrows the first error of the graph (a TaskError), or Cancelled after cancel(); the runtime is
    /// usable afterwards.
    ///
    /// Throws UsageError inside a GPU kernel, and in a destructor of what a kernel captured: such an object is
    /// destroyed before its task counts as complete. (A destructor that lets it out ends the program with this error's
    /// text.) A task must not block on another thread that waits for the runtime: neither would ever go on. A thread
    /// outside of tasks that waits for several seconds in which no task completes logs which tasks are running.
    ///
    /// Tasks that wait for their children may nest: a thread that waits runs deeper tasks on its own stack. If less
    /// than 256 KiB of that (a quarter of a smaller stack) are left, one of 64 other threads takes over, with a stack
    /// of its own. Once all of these are in use too, waiting throws UsageError; with stacks of 8 MiB that is after some
    /// 10^5 levels. Tasks that submit children and do not wait nest to any depth.
    void wait();

    /// wait() with a limit. False when the time ran out first; tasks go on. On a machine with a free core it returns at
    /// most 2 ms after its limit, however long tasks last, since another thread works in place of the one that waits.
    /// (Inside tasks that holds for 64 threads that wait at the same time; further ones may have to run a task to its
    /// end.) A limit of 0 looks and does not wait.
    bool wait_for(std::chrono::nanoseconds limit);

    /// Drops every task of the graph that has not started, and those submitted before its next wait(), which throws
    /// Cancelled. Running tasks finish. Does nothing while nothing of the graph is in flight.
    void cancel();

    /// Inside a task: whether its graph was cancelled, so that a long kernel may stop early.
    bool cancelled() const;

    /// The first error of the graph since its last wait(), if any. Not set by cancel(). Inside a task: that of the
    /// task's graph, to which errors of children that the task waits for do not belong.
    std::exception_ptr error() const;

    int workers() const;
    /// What worker() returns is less than that: workers(), and more for threads that stand in for tasks in wait_for().
    int worker_numbers() const;
    /// GPUs, emulated ones too.
    int gpus() const;
    std::vector<DeviceInfo> devices() const;
    const Config& config() const;
    /// The entries of the tuning tables for this machine: for its CPU, and for its first GPU or, without GPUs, for the
    /// newest GPU in the tables.
    const Tuning& tuning() const;
    Statistics statistics() const;

    /// Expected time of such a run on this runtime. Empty if nothing was learnt about it, or without Config::models.
    std::optional<RunEstimate> expected_run(const RunCase& run, FactorMode mode) const;
    /// Adds the times of such runs on this runtime to the file Config::models, which later runtimes read. Nothing else
    /// may have run at the same time. Does nothing without a file; never throws because of it.
    void learn_run(const RunCase& run, FactorMode mode, const std::vector<double>& seconds) const;

    /// With Config::drawing, the drawing so far as text in DOT. Throws UsageError without.
    std::string drawing() const;

    void start_trace();
    /// What was recorded since start_trace() (or the last call); call it when nothing is in flight.
    Trace take_trace();

  private:
    detail::Engine& engine() const;
    void prefetch(const detail::AccessRecord& record, Place place, int priority, std::optional<int> step);
    void broadcast(const detail::AccessRecord& record, int priority, std::optional<int> step);
    void evict(const detail::AccessRecord& record, Place gpu);
    void invalidate(const detail::AccessRecord& record);

    friend struct detail::RuntimeAccess;  // for the library's own algorithms
    const detail::RuntimePlace place_{*this};
    std::unique_ptr<detail::Engine> engine_;  ///< ends first: the place stands for it
};

/// The number of the worker that runs the calling thread's task: 0 .. Runtime::workers() - 1, or below
/// Runtime::worker_numbers() if tasks call wait_for(), for which other threads stand in. No two threads that run tasks
/// of one runtime at the same time have the same one, so a kernel may index scratch memory by it. That goes for
/// threads that wait() from outside and run tasks meanwhile, too: such a thread, or one of the runtime's that stands in
/// for it, is worker 0. It is that of the innermost task of the calling thread, whatever its runtime.
///
/// A task keeps its worker. Other tasks run on it while the task waits (in wait(), host_view(), a blocking loop, or a
/// submit() that finds the window full), and may overwrite what the task has put there. A coroutine may have another
/// worker after each co_await. Throws UsageError outside tasks and where a kernel runs on a GPU, an emulated one too.
int worker();

template <class F, class... Accesses>
auto TaskHandle::then(const TaskOptions& options, F&& kernel, const Accesses&... accesses) const {
    return detail::runtime_of(*this, "then()").submit(options, after(*this), accesses..., std::forward<F>(kernel));
}

template <class T>
template <class F, class... Accesses>
auto Future<T>::then(const TaskOptions& options, F&& kernel, const Accesses&... accesses) {
    check("then()");
    using Kernel = detail::KernelOfValue<std::decay_t<F>, T>;
    Runtime& runtime = detail::runtime_of(task_, "then()");
    return runtime.submit(options, after(task_), accesses..., Kernel{std::forward<F>(kernel), std::move(value_)});
}

}  // namespace basalt
