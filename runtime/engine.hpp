#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "basalt/run_models.hpp"
#include "basalt/runtime.hpp"
#include "basalt/tuning.hpp"
#include "runtime/commute.hpp"
#include "runtime/datum.hpp"
#include "runtime/device/driver.hpp"
#include "runtime/gang.hpp"
#include "runtime/memory/coherence.hpp"
#include "runtime/memory/host_pool.hpp"
#include "runtime/parking.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/scope.hpp"
#include "runtime/task_pool.hpp"
#include "runtime/trace_recorder.hpp"
#include "runtime/worker.hpp"

namespace basalt::detail {

/// What a thread is doing for an engine; a stack, since a task of one runtime may use another one.
struct ThreadContext {
    Engine* engine;
    Worker* worker;  ///< the place it works; nullptr for a thread outside, or inside a device kernel
    Task* task;      ///< what it runs; nullptr between tasks
    ThreadContext* outer;
};

/// `rows` pieces of memory of the user's of `row_bytes` each, `pitch` bytes apart.
struct HostWindow {
    void* memory;
    std::size_t row_bytes;
    std::size_t rows;
    std::size_t pitch;
};

/// The dependency engine: takes in tasks in program order, releases each when its predecessors have completed,
/// and has it run.
///
/// Threads. `workers` places run tasks. Place 0 belongs to whichever outside thread waits or helps, and to a
/// stand-in thread when none does but tasks are there; the other places have a thread each. At most one
/// thread works a place at a time, so a place's slot cache, counter and trace row need no lock.
///
/// Life of a task: submit() fills a slot and records hazards under the scope's lock; `pending` counts
/// predecessors; whoever takes it to zero makes the task ready; a worker runs it and finish() closes its
/// successor list and releases them.
class Engine {
  public:
    explicit Engine(const Config& config);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // submission.cpp
    void submit(const TaskOptions& options, const AccessRecord* records, std::size_t count, const KernelOps& ops,
                void* source);
    /// Submits a task of the runtime's own on one datum; it runs even when its graph is cancelled.
    /// `at_home`: it finds the contents in the host's memory.
    void submit_internal(Scope& scope, Version& version, bool at_home, std::function<void()> action);
    void release_submission(TaskSubmission& submission);
    void abandon(Version& version);

    // waiting.cpp
    void wait();
    bool wait_for(std::chrono::nanoseconds limit);
    void wait_datum(Datum& datum);
    void wait_datum(Datum& datum, Scope& home, bool at_home);
    void cancel();
    bool cancelled() const;
    void drain() noexcept;
    /// Called once: by the next wait() outside tasks, before it waits, or by `owner` itself at its end, through
    /// run_before_wait(). `owner` is kept alive meanwhile.
    void before_next_wait(std::weak_ptr<const void> owner, const void* key, std::function<void()> action);
    void run_before_wait(const void* key);

    // datum.cpp
    Datum* create_datum(void* base, std::size_t element_size, Index rows, std::int32_t cols, Storage storage,
                        const char* name);
    void destroy_datum(Datum* datum) noexcept;

    const Config& config() const { return config_; }
    const Tuning& tuning() const { return tuning_; }
    /// nullptr where Config names no file.
    const RunModels* models() const { return models_.get(); }
    /// As run models call it.
    RunMachine run_machine() const;
    int places() const { return static_cast<int>(workers_.size()); }
    Statistics statistics();
    TraceRecorder& trace() { return trace_; }

    // devices.cpp
    void start_drivers();
    int gpus() const { return static_cast<int>(devices_.size()); }
    bool has_gpu(int number) const { return 0 <= number && number < gpus(); }
    /// What to say of a GPU that there is not.
    std::string no_such_gpu(int number) const;
    bool has_real_gpus() const { return !devices_.empty() && !devices_.front()->emulated(); }
    /// GPUs to which an algorithm may deal its work by number: all, or none where one is lost, and inside a task, whose
    /// children run on cores.
    int gpus_to_deal_to() const;
    /// Memory that GPUs copy to and from.
    HostPool& pinned() { return *pinned_; }
    /// Memory that only cores compute with.
    HostPool& workspaces() { return workspaces_; }
    Device& device(int index) const { return *devices_[static_cast<std::size_t>(index)]; }
    std::vector<DeviceInfo> device_infos();
    void prefetch(const AccessRecord& record, Place place, Coherence::Purpose purpose);
    void broadcast(const AccessRecord& record, Coherence::Purpose purpose, bool by_source = false);
    /// Room on a GPU for `count` data of `bytes` each, side by side.
    void prepare_memory(int device, std::size_t bytes, std::size_t count);
    /// Whether the datum has memory on that GPU, once everything submitted has run.
    bool has_memory_on(const Datum& datum, int device);
    /// Whether the host's memory holds the contents, or the GPU's, once everything submitted has run.
    bool at_home(const Datum& datum);
    bool valid_on(const Datum& datum, int device);
    /// The datum gives up its memory on the GPU, which holds for whatever is submitted from now on. Its contents come
    /// home first where they are nowhere else.
    void leave(const Datum& datum, int device, Coherence::Purpose purpose);
    /// Bytes of the GPU's memory that data may take up.
    std::size_t memory_of(int device) const;
    /// Those that the runtime has already taken: a lower bound of memory_of() that is known without asking the device.
    std::size_t memory_taken(int device) const;
    /// Bytes that data have of it at present.
    std::size_t memory_in_use(int device);
    /// The most that data had at once of any GPU, since forget_most_in_use().
    std::size_t most_in_use();
    void forget_most_in_use();
    /// Memory of the user's on a GPU becomes the datum's there; see Coherence::adopt(). Throws UsageError inside a
    /// task.
    void adopt(const Datum& datum, int device, void* memory);

    // host_copies.cpp
    /// Submits a task that copies between pinned memory of the user's and rows of a datum on a GPU, where they lie one
    /// behind the other, on the stream of that direction: to the user where `record` reads them, from the user where it
    /// writes them. Throws UsageError inside a task, and DeviceError as submit() does.
    void submit_host_copy(const TaskOptions& options, const AccessRecord& record, int device, const HostWindow& window);
    /// Submits a task that copies elements of one datum, `from`, out of the host's memory to those of another, `to`, on
    /// a GPU: no more of it travels, and what lies on the GPU of the former stays as it is. Two data, neither record
    /// empty, of as many rows; where `to` has more columns, the others of them have no contents then. The rest is as
    /// above.
    void submit_fetch(const TaskOptions& options, const AccessRecord& from, const AccessRecord& to, int device);
    /// Nobody will ask for what everything submitted so far leaves in the datum: it is not worth a transfer.
    void abandon_contents(const Datum& datum);

    /// Whether the task has completed; what it wrote is visible then.
    bool completed(TaskRef task) const {
        // acquire: what the task wrote is visible to whoever is told that it has completed
        const std::uint64_t word = pool_.at(task.slot).successors.load(std::memory_order_acquire);
        return Task::generation_of(word) != task.generation;
    }
    /// Whether the task has not completed and uses data on that node.
    bool uses_node(TaskRef task, Node node) const {
        const std::uint8_t used = pool_.at(task.slot).node.load(std::memory_order_relaxed);
        return !completed(task) && (used == node || used == Task::several_nodes);
    }

    /// The scope that the calling thread submits to: its task's children, or level 0. Throws UsageError inside a device
    /// kernel.
    Scope& current_scope();

  private:
    // datum.cpp
    Scope& home_of(const Datum& datum);
    bool used_around_here(const Datum& datum) const;
    bool may_wait_here(const Datum& datum);

    friend class Coherence;
    friend class Driver;
    friend class TaskSubmission;
    static constexpr int levels = 16;  ///< nesting levels with queues of their own; deeper ones share the last

    // submission.cpp
    void throttle(Scope& scope);
    SlotCache& slot_cache(Scope& scope);

    // host_copies.cpp
    template <class F>
    void submit_copy(const TaskOptions& options, const std::array<AccessRecord, 2>& records, std::size_t count,
                     std::uint32_t at_home, int device, StreamRole role, const F& copy_at);

    // completion.cpp
    Task* run_one(Task& task, Worker& worker, int min_level);
    void run_kernel(Task& task, Worker& worker, const Team& team);
    void run_on_device(Task& task, Stream stream);
    void kernel_done(Task& task, Worker& worker);
    void close_children(Task& task, Scope* children);
    void finish(Task& task, Worker& worker);
    /// The device has the task in its streams: its successors on devices may be enqueued behind it.
    void release_enqueued(Task& task);
    /// Where the edge's list goes on, and which task the edge leads to.
    std::uint32_t next_edge(std::uint32_t edge, Task*& target) const {
        target = &pool_.at(edge >> 8);
        if (target->kind != TaskKind::relay) return target->next_edge[edge & 0xff];
        const Relay& relay = pool_.relay_at(edge >> 8);
        target = &pool_.at(relay.target);
        return relay.next_edge[edge & 0xff];
    }
    void dispatch(Task& task);
    void hand_on(Worker& worker);
    void release_successors(std::uint64_t closed, Worker& worker);
    void settle(Scope& scope, Worker& worker);
    void fail(Task& task, const std::string& place);
    void clear_payload(Task& task, Worker& worker);
    Task* choose_next(Worker& worker, int min_level);

    // gangs.cpp
    void run_gang(Task& task, Worker& worker);
    void enter_gang(Gang& gang, int rank, Worker& worker);
    int package_for(const Task& task, const Worker& leader) const;
    int workers_of(int package) const;
    int package_of_most_workers() const;
    bool join_gang(Worker& worker);
    /// Whether the worker may run the task: a member of a running gang leads no gang that waits for members.
    static bool may_lead(const Worker& worker, const Task& task) {
        return !task.gang || worker.gangs == 0 || task.scope->inside_gang;
    }

    // workers.cpp
    void worker_main(Worker& worker);
    void stand_in_main();
    void stop_threads();
    /// Runs tasks of min_level and deeper until done() holds (looked at when out of work and now and then),
    /// or the deadline. `awaited`: the scope whose end the caller waits for.
    void work_until(Worker& worker, int min_level, const void* awaited, const std::function<bool()>& done,
                    std::optional<std::chrono::steady_clock::time_point> deadline = {});
    Task* find_work(Worker& worker, int min_level);
    void make_ready(Task* const* tasks, std::size_t count, Worker* worker);
    Scheduler& scheduler(int level) {
        const int index = std::min(level, levels - 1);
        Scheduler* existing = schedulers_[static_cast<std::size_t>(index)].load(std::memory_order_acquire);
        return existing != nullptr ? *existing : make_level(index);
    }
    Scheduler& make_level(int index);
    bool ready_tasks(int min_level) const;

    // waiting.cpp
    bool wait_until(std::optional<std::chrono::steady_clock::time_point> deadline);
    void run_all_before_wait();
    void wait_root(std::optional<std::chrono::steady_clock::time_point> deadline);
    void wait_children(Scope& scope, std::optional<std::chrono::steady_clock::time_point> deadline);
    /// work_until() on place 0 as soon as it is to be had, or waiting until then.
    void work_outside(const std::function<bool()>& done,
                      std::optional<std::chrono::steady_clock::time_point> deadline = {});
    bool take_outside_place();
    void leave_outside_place();
    void announce_quiescence();
    std::uint64_t completed() const;
    std::uint64_t in_flight() const;
    void rethrow(Scope& scope);

    static ThreadContext* context_of(const Engine* engine);
    static thread_local ThreadContext* context_;

    std::vector<std::unique_ptr<Device>> devices_;  ///< first of all: how many workers there are depends on them
    const Config config_;
    const Tuning tuning_;
    const std::unique_ptr<const RunModels> models_;
    TaskPool pool_;
    SlotCache root_cache_;
    std::atomic<std::uint64_t> next_scope_{1};
    Scope root_;
    alignas(64) std::atomic<std::uint64_t> known_completed_{0};  ///< a lower bound of completed(), for throttle()

    alignas(64) std::mutex schedulers_lock_;
    std::array<std::atomic<Scheduler*>, levels> schedulers_{};
    std::vector<std::unique_ptr<Scheduler>> owned_schedulers_;
    std::atomic<int> deepest_level_{0};

    CommuteArbiter commute_;
    GangHall hall_;
    ParkingLot parking_;
    TraceRecorder trace_;

    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<std::thread> threads_;
    std::atomic<bool> stop_{false};

    std::unique_ptr<HostPool> pinned_;
    HostPool workspaces_;
    DeviceWorkPool device_works_;
    std::unique_ptr<Coherence> coherence_;  ///< where there are devices
    std::vector<std::unique_ptr<Driver>> drivers_;

    std::atomic<bool> outside_place_taken_{false};
    std::atomic<int> outside_waiters_{0};  ///< outside threads that want place 0
    std::mutex outside_lock_;              ///< with the condition: place 0 was left, or all is quiet
    std::condition_variable outside_changed_;
    std::atomic<bool> stand_in_parked_{false};
    std::atomic<bool> stand_in_works_{false};  ///< on place 0

    std::mutex before_wait_lock_;
    struct BeforeWait {
        std::weak_ptr<const void> owner;
        const void* key;
        std::function<void()> action;
    };
    std::vector<BeforeWait> before_wait_;

    // counters of finished scopes
    std::mutex statistics_lock_;
    Statistics finished_;
};

}  // namespace basalt::detail
