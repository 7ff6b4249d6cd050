#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "basalt/access.hpp"
#include "basalt/config.hpp"
#include "basalt/device.hpp"
#include "basalt/error.hpp"
#include "basalt/factor_mode.hpp"
#include "basalt/kernel_ops.hpp"
#include "basalt/task_options.hpp"
#include "basalt/team.hpp"
#include "basalt/trace.hpp"

namespace basalt {

struct RunCase;  // run_models.hpp
struct RunEstimate;
struct Tuning;  // tuning.hpp

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
};

class Runtime;

namespace detail {

class Engine;
struct RuntimeAccess;

void submit(Engine& engine, const TaskOptions& options, const AccessRecord* records, std::size_t count,
            const KernelOps& ops, void* source);

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
/// logs the task's name and calls std::terminate(). std::exit() in a kernel destroys static objects on that thread; a
/// static Runtime among them terminates the program in the same way. Use std::quick_exit() or throw an exception.
///
/// Thread-safety: every member function may be called from any thread at any time, except the destructor.
/// Submissions of several threads outside tasks are serialised in the order in which they take a lock.
class Runtime {
  public:
    /// Uses the whole machine, or the settings of the environment (Config::from_environment()).
    Runtime() : Runtime(Config::from_environment()) {}
    /// Starts the workers. Throws UsageError, which names the setting, if one is out of range.
    explicit Runtime(const Config& config);
    /// Waits for everything submitted, then releases the arrays and matrices that outlive the runtime (see Array). An
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
    /// such as a std::vector<Array<double>>. The kernel gets a View for an array or region and Views, a std::span of
    /// them, for a range.
    ///
    /// The CPU kernel is called as f(views...), f(team, views...), f() or f(team), the cuda kernel as g(stream,
    /// views...) or g(stream): views in the order of the accesses. A `const Team&` is passed only to kernels that
    /// cannot be called without: a gang's generic kernel names it, as in [](const Team& team, auto... views). Kernels
    /// are moved into the task. options.place says where the task runs; its data are copied there before. If a kernel
    /// throws, all tasks of its graph that have not started are cancelled, and wait() rethrows the exception as a
    /// TaskError. From then on, and after cancel(), submitted tasks are dropped until the next wait(). A cuda kernel
    /// must not submit tasks and must not wait.
    ///
    /// Returns at once while fewer tasks are in flight than Config::window. Otherwise the calling thread first runs
    /// other tasks. So a mutex that tasks lock must not be held over submit(), unless Config::window is 0.
    ///
    /// Throws UsageError when an access or place is not allowed here: for data that were released or belong to another
    /// Runtime, a gang on a GPU, or a GPU that does not exist. Throws DeviceError when the data of a GPU task can never
    /// fit into its memory.
    template <class... Args>
    void submit(const TaskOptions& options, Args&&... args) {
        static_assert(sizeof...(Args) > 0, "submit(options, accesses..., kernel): the kernel is missing");
        using Types = std::tuple<std::remove_cvref_t<Args>...>;
        constexpr std::size_t count = sizeof...(Args);
        constexpr bool on_gpu = detail::IsCudaKernel<std::tuple_element_t<count - 1, Types>>::value;
        constexpr std::size_t accesses = [] {
            if constexpr (!on_gpu) {
                return count - 1;
            } else if constexpr (count == 1) {
                return std::size_t{0};
            } else {
                return detail::IsAccess<std::tuple_element_t<count - 2, Types>>::value ? count - 1 : count - 2;
            }
        }();
        submit_tuple<on_gpu>(options, std::forward_as_tuple(std::forward<Args>(args)...),
                             std::make_index_sequence<accesses>{});
    }

    /// The same with a list of accesses to data of different types; the kernels take no views but nothing or the list's
    /// Addresses: f(), f(team), f(addresses), f(team, addresses); g(stream), g(stream, addresses).
    template <class List, class F>
    requires std::is_same_v<std::remove_cvref_t<List>, AccessList>
    void submit(const TaskOptions& options, List&& list, F&& kernel) {
        if constexpr (detail::IsCudaKernel<std::remove_cvref_t<F>>::value) {
            submit_list(options, list, detail::NoKernel{}, std::forward<F>(kernel).function);
        } else {
            submit_list(options, list, std::forward<F>(kernel), detail::NoKernel{});
        }
    }
    template <class List, class F, class G>
    requires std::is_same_v<std::remove_cvref_t<List>, AccessList>
    void submit(const TaskOptions& options, List&& list, F&& kernel, CudaKernel<G> gpu_kernel) {
        submit_list(options, list, std::forward<F>(kernel), std::move(gpu_kernel.function));
    }

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

    /// Waits until all submitted tasks have completed, and runs tasks meanwhile. Inside a task: until its children have
    /// completed. Rethrows the first error of the graph (a TaskError), or Cancelled after cancel(); the runtime is
    /// usable afterwards.
    ///
    /// Throws UsageError inside a GPU kernel, and in a destructor of what a kernel captured: such an object is
    /// destroyed before its task counts as complete. (A destructor that lets it out ends the program with this error's
    /// text.) A task must not block on another thread that waits for the runtime: neither would ever go on. A thread
    /// outside of tasks that waits for several seconds in which no task completes logs which tasks are running.
    void wait();

    /// wait() with a limit. False when the time ran out first; tasks go on. Outside tasks the limit is kept to within a
    /// few milliseconds, however long tasks last, since another thread works in place of the one that waits.
    bool wait_for(std::chrono::nanoseconds limit);

    /// Drops every task of the graph that has not started, and those submitted before its next wait(), which throws
    /// Cancelled. Running tasks finish. Does nothing while nothing of the graph is in flight.
    void cancel();

    /// Inside a task: whether its graph was cancelled, so that a long kernel may stop early.
    bool cancelled() const;

    int workers() const;
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

    void start_trace();
    /// What was recorded since start_trace() (or the last call); call it when nothing is in flight.
    Trace take_trace();

  private:
    template <bool OnGpu, class Tuple, std::size_t... I>
    void submit_tuple(const TaskOptions& options, Tuple&& args, std::index_sequence<I...>) {
        constexpr std::size_t accesses = sizeof...(I);
        constexpr std::size_t kernels = std::tuple_size_v<std::remove_cvref_t<Tuple>> - accesses;
        if constexpr (!OnGpu) {
            submit_bound(options, std::get<accesses>(std::forward<Tuple>(args)), detail::NoKernel{},
                         std::get<I>(args)...);
        } else if constexpr (kernels == 1) {
            submit_bound(options, detail::NoKernel{}, std::get<accesses>(std::forward<Tuple>(args)).function,
                         std::get<I>(args)...);
        } else {
            submit_bound(options, std::get<accesses>(std::forward<Tuple>(args)),
                         std::get<accesses + 1>(std::forward<Tuple>(args)).function, std::get<I>(args)...);
        }
    }

    template <class F, class G, class... A>
    void submit_bound(const TaskOptions& options, F&& cpu, G&& gpu, const A&... access) {
        using Cpu = std::decay_t<F>;
        using Gpu = std::decay_t<G>;
        static_assert(detail::is_cpu_kernel<Cpu, typename detail::ArgumentOf<A>::Passed...>,
                      "the kernel takes neither the views of its accesses nor nothing");
        static_assert(detail::is_cuda_kernel<Gpu, typename detail::ArgumentOf<A>::Passed...>,
                      "the cuda kernel takes neither (Stream, views of its accesses...) nor (Stream)");
        if constexpr ((detail::is_range_access<A> || ...)) {
            const std::size_t count = (std::size_t{0} + ... + detail::records_of(access));
            detail::RecordBuffer records(count);
            (records.add(access), ...);
            submit_records(options, records.begin(), count, std::forward<F>(cpu), std::forward<G>(gpu), access...);
        } else {
            const std::array<detail::AccessRecord, sizeof...(A)> records{access.record...};
            submit_records(options, records.data(), records.size(), std::forward<F>(cpu), std::forward<G>(gpu),
                           access...);
        }
    }

    template <class F, class G, class... A>
    void submit_records(const TaskOptions& options, const detail::AccessRecord* records, std::size_t count, F&& cpu,
                        G&& gpu, const A&... access) {
        using Cpu = std::decay_t<F>;
        using Gpu = std::decay_t<G>;
        if constexpr (sizeof...(A) > 0 &&
                      detail::takes_arguments<Cpu, Gpu, typename detail::ArgumentOf<A>::Passed...>) {
            using Ops = detail::ViewOps<Cpu, Gpu, A...>;
            typename Ops::Source source{std::forward<F>(cpu), std::forward<G>(gpu), {access...}};
            detail::submit(*engine_, options, records, count, Ops::ops, &source);
        } else {
            using Ops = detail::PlainOps<Cpu, Gpu>;
            typename Ops::Source source{std::forward<F>(cpu), std::forward<G>(gpu)};
            detail::submit(*engine_, options, records, count, Ops::ops, &source);
        }
    }

    template <class F, class G>
    void submit_list(const TaskOptions& options, const AccessList& list, F&& cpu, G&& gpu) {
        using Cpu = std::decay_t<F>;
        using Gpu = std::decay_t<G>;
        const detail::AccessRecord* const records = list.records().data();
        const std::size_t count = list.records().size();
        constexpr bool users = detail::is_cpu_kernel<Cpu, Addresses> && detail::is_cuda_kernel<Gpu, Addresses>;
        using List = std::conditional_t<users, Addresses, detail::DatumAddresses>;
        static_assert(detail::is_cpu_kernel<Cpu, List> && detail::is_cuda_kernel<Gpu, List>,
                      "a kernel submitted with an AccessList takes (), (const Team&) or the list's Addresses");
        if constexpr (detail::takes_arguments<Cpu, Gpu, List>) {
            using Ops = detail::ListOps<Cpu, Gpu, List>;
            typename Ops::Source source{std::forward<F>(cpu), std::forward<G>(gpu), list};
            detail::submit(*engine_, options, records, count, Ops::ops, &source);
        } else {
            using Ops = detail::PlainOps<Cpu, Gpu>;
            typename Ops::Source source{std::forward<F>(cpu), std::forward<G>(gpu)};
            detail::submit(*engine_, options, records, count, Ops::ops, &source);
        }
    }

    void prefetch(const detail::AccessRecord& record, Place place, int priority, std::optional<int> step);
    void broadcast(const detail::AccessRecord& record, int priority, std::optional<int> step);

    friend struct detail::RuntimeAccess;  // for the library's own algorithms
    std::unique_ptr<detail::Engine> engine_;
};

}  // namespace basalt
