#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "basalt/emulation.hpp"
#include "basalt/graph_drawing.hpp"

namespace basalt {

class TaskHooks;      // hooks.hpp
struct TuningTables;  // tuning.hpp

/// Settings of a Runtime; the defaults use the whole machine.
struct Config {
    /// Threads that run tasks, counting a thread that waits. 0: one for each core that the affinity mask
    /// and the cgroup's CPU quota allow.
    int workers = 0;
    /// "priority" (work stealing by priority), "fifo", or a scheduler of the program's own. See scheduler.hpp and
    /// scheduler_names().
    std::string scheduler = "priority";
    /// Chooses the place of tasks that may run in several: have a cuda kernel and Place::any(). "gpu": the GPU that
    /// holds most of the task's data; cores only run what has no cuda kernel. "heft": where the task is expected to be
    /// finished first, by learnt times, copies and queues; equal programs may then give different bits. "owner": where
    /// most of the bytes that it writes are. Or a policy of the program's own. See policy.hpp and policy_names().
    std::string policy = "gpu";
    /// Most tasks of one submitting scope in flight, which bounds the memory that tasks take up. When there are as
    /// many, submit() runs other tasks instead of returning at once. 0: no limit. Then submit() never runs tasks and
    /// never waits, so a program may hold a mutex over submit() that its tasks lock as well. Each task in flight takes
    /// about 450 bytes, and from 16 million on submit() throws std::bad_alloc.
    std::size_t window = 4096;
    /// Bind workers to cores: those that fewest threads of other runtimes are bound to. So runtimes of one process, and
    /// those of several that share a network namespace, have cores of their own while there are enough. A runtime on
    /// all cores does not tell other processes. The user's own threads are never bound.
    bool bind = true;
    /// Largest number of GPUs to use, of those that CUDA_VISIBLE_DEVICES leaves; empty: all of them. With emulated GPUs
    /// (emulation.gpus > 0) the runtime uses no real ones.
    std::optional<int> gpus{};
    Emulation emulation{};
    /// Bytes of each GPU's memory that the runtime may use; 0: all of it. Emulated GPUs have at least this much.
    std::size_t gpu_memory = 0;
    /// Streams of each GPU and priority (above 0, or not) on which tasks run side by side, 1 to most_gpu_streams; they
    /// are made when they are first needed. A task that waits for the last task of a stream goes behind it, so a chain
    /// stays in one stream. With 1, the tasks of one GPU and priority run one after the other, in the order in which
    /// they became ready. The library's own algorithms arrange their streams themselves, whatever the number. With more
    /// than 1 the first runtime of a process sets the environment variable CUDA_DEVICE_MAX_CONNECTIONS to 32 if it is
    /// not set: with CUDA's default of 8, streams share queues and wait for each other.
    int gpu_streams = 8;
    /// Numbers that depend on the architecture; nullptr: TuningTables::built_in().
    std::shared_ptr<const TuningTables> tuning{};
    /// File with the times of earlier runs and of tasks (see RunModels). FactorMode::automatic chooses by it, and
    /// learn_run() adds to it. A policy that observes tasks begins with the times that are there, and adds its own when
    /// the runtime ends. Empty, the default: no file. With a file, equal programs on equal machines may give different
    /// bits, and a library should write no files without being asked.
    std::string models{};
    /// Record a trace from the start; see Runtime::take_trace().
    bool trace = false;
    /// Measure the tasks of each name: Statistics::by_name. Costs some 100 ns a task. The other statistics are always
    /// there.
    bool statistics = false;
    /// Called when a task begins and ends, if there are any; see TaskHooks. Runtimes may share them.
    std::shared_ptr<TaskHooks> hooks{};
    /// Print on standard error what waits for what when no task has begun or ended for that long while a thread waits:
    /// once for each such standstill. A long task is no error; it is shown as what runs. 0: never. Costs some 50 ns a
    /// task.
    std::chrono::milliseconds watchdog{0};
    /// Draw the graph of these tasks. Costs about a microsecond for each of them.
    std::optional<GraphDrawing> drawing{};

    static constexpr int most_gpus = 8;
    static constexpr int most_gpu_streams = 16;
    static constexpr int most_workers = 1024;
    static constexpr std::size_t most_window = std::size_t{1} << 22;
    static constexpr std::chrono::hours longest_watchdog{24};

    /// The defaults, overridden by the environment variables BASALT_WORKERS, BASALT_SCHEDULER, BASALT_POLICY,
    /// BASALT_WINDOW, BASALT_BIND, BASALT_GPUS, BASALT_EMULATED_GPUS, BASALT_GPU_MEM, BASALT_GPU_STREAMS,
    /// BASALT_TUNING, BASALT_MODELS, BASALT_WATCHDOG (seconds) and BASALT_DOT (the file of a drawing of the first 1000
    /// tasks). Unknown BASALT_ names and values that are not allowed are logged as warnings and ignored.
    static Config from_environment();
};

/// The schedulers that Config::scheduler may name: the library's and those that were registered. Thread-safe.
std::vector<std::string> scheduler_names();

}  // namespace basalt
