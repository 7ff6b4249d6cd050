#include "runtime/engine.hpp"

#include <algorithm>
#include <string>

#include "runtime/topology.hpp"

namespace basalt::detail {

thread_local ThreadContext* Engine::context_ = nullptr;

namespace {

static_assert(Config::most_window <= TaskPool::max_slots / 4, "a window must leave slots for relays and other scopes");

void require_range(const char* name, long value, long low, long high) {
    if (low <= value && value <= high) return;
    throw UsageError("Config::" + std::string(name) + " = " + std::to_string(value) + "; allowed is " +
                     std::to_string(low) + " to " + std::to_string(high));
}

/// The emulation that the runtime gets: its GPUs have what Config::gpu_memory lets it use. Refused are settings out of
/// range, and memory that the host could never hold; what is there by default nobody has asked for.
Emulation checked_emulation(const Config& config) {
    Emulation emulation = config.emulation;
    require_range("emulation.failing_gpu (-1: all)", emulation.failing_gpu, -1, emulation.gpus - 1);
    if (emulation.longest_delay.count() < 0) {
        throw UsageError("Config::emulation.longest_delay = " + std::to_string(emulation.longest_delay.count()) +
                         " ns; allowed is 0 or more");
    }
    const std::size_t most = std::max(Emulation{}.memory, usable_memory() / static_cast<std::size_t>(emulation.gpus));
    const auto require_room = [&](const char* name, std::size_t bytes) {
        if (bytes <= most) return;
        throw UsageError("Config::" + std::string(name) + " = " + std::to_string(bytes) + " with " +
                         std::to_string(emulation.gpus) + (emulation.gpus == 1 ? " emulated GPU" : " emulated GPUs") +
                         "; allowed is up to " + std::to_string(most) + " bytes each, of the host's " +
                         std::to_string(usable_memory()));
    };
    require_room("emulation.memory", emulation.memory);
    require_room("gpu_memory", config.gpu_memory);
    emulation.memory = std::max(emulation.memory, config.gpu_memory);
    return emulation;
}

const TuningTables& tables_of(const Config& config) {
    return config.tuning ? *config.tuning : TuningTables::built_in();
}

std::vector<std::unique_ptr<Device>> open_devices(const Config& config) {
    require_range("gpus (-1: all)", config.gpus, -1, Config::most_gpus);
    require_range("emulation.gpus", config.emulation.gpus, 0, Config::most_gpus);
    const TuningTables& tables = tables_of(config);
    if (config.tuning) tables.check("Config::tuning");
    if (config.emulation.gpus > 0) return make_emulated_devices(checked_emulation(config), tables);
    return make_cuda_devices(config.gpus < 0 ? Config::most_gpus : config.gpus, tables);
}

Tuning tuning_for(const Config& config, const std::vector<std::unique_ptr<Device>>& devices) {
    const TuningTables& tables = tables_of(config);
    const CpuTuning& cpu = tables.for_cpu(cpu_architecture());
    return {cpu, devices.empty() ? tables.gpus.back() : devices.front()->tuning()};
}

Config checked(Config config, const std::vector<std::unique_ptr<Device>>& devices) {
    if (config.workers < 0 || config.workers > Config::most_workers) {
        throw UsageError("Config::workers = " + std::to_string(config.workers) + "; allowed is 0 (all cores) to " +
                         std::to_string(Config::most_workers));
    }
    if (config.window < 1 || config.window > Config::most_window) {
        throw UsageError("Config::window = " + std::to_string(config.window) + "; allowed is 1 to " +
                         std::to_string(Config::most_window));
    }
    if (config.workers == 0) {
        config.workers = usable_cores();
        // the thread that feeds a GPU polls: it has a core to itself where there are enough
        const bool feeds = !devices.empty() && !devices.front()->emulated();
        if (feeds) config.workers = std::max(1, config.workers - static_cast<int>(devices.size()));
    }
    return config;
}

}  // namespace

Engine::Engine(const Config& config)
    : devices_(open_devices(config)),
      config_(checked(config, devices_)),
      tuning_(tuning_for(config, devices_)),
      models_(config.models.empty() ? nullptr : std::make_unique<const RunModels>(config.models)),
      root_(nullptr, nullptr, next_scope_++),
      trace_(config_.workers, gpus()) {
    root_.cache = &root_cache_;
    for (int place = 0; place < config_.workers; ++place) {
        workers_.push_back(std::make_unique<Worker>(place, config_.bind ? package_of(place) : 0));
    }
    scheduler(0);  // throws UsageError for an unknown policy before any thread is there
    if (config_.trace) trace_.start();
    start_drivers();  // before the threads that look at them
    try {
        threads_.emplace_back([this] { stand_in_main(); });
        for (int place = 1; place < config_.workers; ++place) {
            threads_.emplace_back([this, place] { worker_main(*workers_[static_cast<std::size_t>(place)]); });
        }
    } catch (...) {  // the system allows no more threads
        stop_threads();
        throw;
    }
}

Engine::~Engine() {
    drain();
    for (const auto& driver : drivers_) driver->stop();
    stop_threads();
}

void Engine::stop_threads() {
    stop_.store(true, std::memory_order_release);
    {
        const std::lock_guard guard(outside_lock_);
        outside_changed_.notify_all();
    }
    parking_.wake_all();
    for (std::thread& thread : threads_) thread.join();
}

ThreadContext* Engine::context_of(const Engine* engine) {
    ThreadContext* context = context_;
    while (context != nullptr && context->engine != engine) context = context->outer;
    return context;
}

Scope& Engine::current_scope() {
    ThreadContext* context = context_of(this);
    if (context == nullptr || context->task == nullptr) return root_;
    Task& task = *context->task;
    if (context->worker == nullptr) {
        throw UsageError("task '" + task_label(task) +
                         "': the runtime is used inside its GPU kernel, which may only enqueue "
                         "work on its stream");
    }
    Scope* children = task.children.load(std::memory_order_acquire);
    if (children != nullptr) return *children;
    auto* fresh = new Scope(&task, task.scope, next_scope_.fetch_add(1, std::memory_order_relaxed));
    fresh->inside_gang = context->worker->gangs > 0;
    // acq_rel: members of a gang may race for the first child; all of them use the scope that got there first
    if (task.children.compare_exchange_strong(children, fresh, std::memory_order_acq_rel, std::memory_order_acquire)) {
        return *fresh;
    }
    delete fresh;
    return *children;
}

Statistics Engine::statistics() {
    Statistics sum;
    {
        const std::lock_guard guard(statistics_lock_);
        sum = finished_;
    }
    const std::lock_guard guard(root_.lock);
    sum.tasks += root_.user_tasks;
    sum.edges += root_.edges;
    sum.dropped += root_.dropped;
    sum.sync_nodes += root_.sync_nodes;
    sum.renamed += root_.renamed;
    sum.most_gpu_bytes = most_in_use();
    return sum;
}

}  // namespace basalt::detail
