#include "runtime/engine/engine.hpp"

#include <exception>
#include <string>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/machine.hpp"
#include "base/topology.hpp"
#include "runtime/engine/settings.hpp"

namespace basalt::detail {

namespace {

/// Places that are bound to cores: workers, and the threads that feed real GPUs if each of them gets a core.
int bound_places(const Config& config, const Gpus& gpus) {
    if (!config.bind) return 0;
    const int with_drivers = config.workers + gpus.count();
    return gpus.has_real() && with_drivers <= usable_cores() ? with_drivers : config.workers;
}

std::vector<std::unique_ptr<Worker>> make_workers(const Config& config, const CoreClaims& cores) {
    std::vector<std::unique_ptr<Worker>> workers;
    for (int place = 0; place < config.workers; ++place) {
        workers.push_back(std::make_unique<Worker>(place, cores.package_of(place)));
    }
    return workers;
}

/// Of the workers, and of spare threads, which share a place. Threads that are not bound are anywhere.
Neighbours neighbours(const Config& config, const CoreClaims& cores) {
    if (cores.cores().empty()) return config.workers + 1;
    Neighbours::Paths paths;
    for (std::size_t place = 0; place < static_cast<std::size_t>(config.workers); ++place) {
        paths.push_back(path_to(static_cast<int>(cores.cores()[place])));
    }
    paths.emplace_back();
    return Neighbours(paths);
}

/// Workers, a thread of the user's outside tasks, and for an emulated GPU those of the streams that run kernels.
int threads_that_compute(const Config& config, const Gpus& gpus) {
    constexpr int computing_streams = 2;
    const bool emulated = gpus.count() > 0 && !gpus.has_real();
    return config.workers + 1 + (emulated ? computing_streams * gpus.count() : 0);
}

/// Also where there is nothing to choose, a policy that does not exist is an error.
std::unique_ptr<PlaceChooser> make_chooser(const Config& config, const Gpus& gpus) {
    std::unique_ptr<Policy> policy = make_policy(config.policy);
    if (policy == nullptr || gpus.count() == 0) return nullptr;
    const PlaceChooser::Machine machine{config.workers, config.gpu_streams};
    return std::make_unique<PlaceChooser>(std::move(policy), config.policy, gpus, machine);
}

}  // namespace

Engine::Engine(const Config& config)
    : gpus_(open_devices(config)),
      config_(checked(config, gpus_.all())),
      tuning_(tuning_for(config, gpus_.all())),
      models_(config.models.empty() ? nullptr : std::make_unique<const RunModels>(config.models)),
      chooser_(make_chooser(config_, gpus_)),
      blas_buffers_(threads_that_compute(config_, gpus_)),
      cores_(bound_places(config_, gpus_)),
      workers_(make_workers(config_, cores_)),
      ready_(config_.scheduler, neighbours(config_, cores_), parking_),
      dispatch_(ready_),
      graph_(dispatch_),
      trace_(graph_, config_.workers + 1, gpus_.count()),
      observers_(graph_, trace_, config_, gpus_.count()),
      submission_log_(config_),
      waiters_(config_.watchdog.count() > 0 ? Waiters::Noting::on : Waiters::Noting::off),
      kernels_(graph_, observers_, placed()),
      completion_(graph_, ready_, dispatch_, parking_, placed()),
      pinned_(gpus_.all(), Sockets(workers_).with_most_workers()),
      coherence_(gpus_.count() > 0 ? std::make_unique<Coherence>(graph_, gpus_.all(), config_.gpu_memory) : nullptr),
      gangs_(workers_, pinned_.package(), parking_, kernels_),
      outside_(parking_, &graph_.root()),
      progress_(graph_, parking_, outside_,
                static_cast<std::size_t>(config_.workers + gpus_.count() + SpareThreads::most)),
      loop_({graph_.root(), ready_, gangs_, kernels_, completion_, parking_, progress_, outside_, config_.workers,
             gpus_.has_real()}),
      drivers_(make_drivers()),
      spares_({graph_, loop_, parking_, completion_, progress_, config_.workers}),
      waiting_({graph_, *workers_.front(), loop_, progress_, outside_, cores_, coherence_.get(), before_wait_, spares_,
                waiters_}),
      task_waits_(graph_, waiting_),
      user_graphs_(graph_, waiting_),
      window_(config_.window, waiting_, progress_, config_.workers == 1 && gpus_.count() == 0),
      placement_(gpus_, coherence_.get(), chooser_.get()),
      blocks_(graph_, placement_),
      at_once_({graph_, ready_, kernels_, completion_, observers_, outside_, *workers_.front(), progress_,
                waiting_.waits(), config_.workers, config_.window != 0 && gpus_.count() == 0}),
      submission_({graph_, window_, placement_, blocks_, ready_, dispatch_, outside_, at_once_, config_.workers,
                   gpus_.count() > 0, submission_log_.is_on() ? &submission_log_ : nullptr}),
      recorded_runs_({graph_, submission_, placement_, blocks_, window_, waiting_, kernels_, completion_,
                      config_.workers, gpus_.count() > 0, config_.window}),
      data_(graph_, submission_, blocks_, waiting_, coherence_.get()),
      host_copies_(graph_, window_, placement_),
      gpu_data_(graph_, gpus_, blocks_, coherence_.get()),
      gpu_memory_(graph_.root().order, gpus_, coherence_ != nullptr ? &coherence_->memory() : nullptr),
      threads_({graph_, workers_, parking_, outside_, progress_, loop_, cores_}),
      life_(observers_, progress_) {
    if (placed() != nullptr && models_ != nullptr) chooser_->models().restore(models_->task_runs(run_machine()));
    for (const auto& worker : workers_) progress_.count(*worker);
    for (const auto& driver : drivers_) progress_.count(driver->worker());
    for (const auto& driver : drivers_) dispatch_.add(*driver);
    for (const auto& driver : drivers_) driver->watch_device();
    if (config_.trace) start_trace();
    start_threads();
}

void Engine::start_threads() {
    threads_.start();
    try {
        // before any work is queued: a queue without its thread would never become empty
        for (const auto& driver : drivers_) driver->start();
        if (const auto& diary = submission_log_.diary()) {
            watchdog_ = std::make_unique<Watchdog>(
                Watchdog::Parts{graph_, progress_, waiters_, *diary, drivers_, config_.watchdog});
            watchdog_->start();
        }
    } catch (...) {  // the system allows no more threads
        stop_threads();
        throw;
    }
}

void Engine::stop_threads() {
    watchdog_.reset();
    for (const auto& driver : drivers_) driver->stop();
    spares_.stop();
    threads_.stop();
}

/// The end of the runtime waits for its tasks and joins their threads, which neither a task nor what it captured can
/// do. A destructor cannot refuse, and to go on would end with a freed runtime under a running task.
void Engine::terminate_inside_task() const {
    if (waiting_.is_outside()) return;
    const ThreadContext* context = ThreadContext::of(graph_);
    const Task* task = context != nullptr && context->task() != nullptr ? context->task()
                       : context != nullptr                             ? context->ended()
                                                                        : nullptr;
    spdlog::critical("basalt: a Runtime is destroyed inside its task '{}'; destroy it outside of its tasks",
                     task != nullptr ? task_label(*task) : "on a GPU");
    spdlog::default_logger()->flush();
    std::terminate();
}

Engine::~Engine() {
    terminate_inside_task();
    recorded_runs_.end();
    user_graphs_.end();
    waiting_.drain("a Runtime");
    {
        const SubmissionTarget housekeeping(graph_, graph_.housekeeping());
        waiting_.drain("a Runtime");
    }
    before_end_.run_all();
    keep_task_times();
    data_.release_all();  // of arrays that outlive the runtime
    program_pins_->end();
    stop_threads();
    if (const auto& drawing = submission_log_.drawing()) drawing->write();
}

void Engine::keep_task_times() {
    if (placed() != nullptr && models_ != nullptr) models_->record_tasks(run_machine(), chooser_->models().runs());
}

std::vector<std::unique_ptr<Driver>> Engine::make_drivers() {
    if (gpus_.count() == 0) return {};
    const Driver::Parts parts{graph_,     gpus_.all(),          kernels_, completion_, progress_,
                              observers_, coherence_->memory(), placed(), cores_,      config_.gpu_streams};
    std::vector<std::unique_ptr<Driver>> drivers;
    for (int gpu = 0; gpu < gpus_.count(); ++gpu) {
        drivers.push_back(std::make_unique<Driver>(parts, gpus_.device(gpu), config_.workers + gpu));
    }
    return drivers;
}

std::vector<DeviceInfo> Engine::device_infos() const {
    std::vector<DeviceInfo> infos;
    for (const auto& device : gpus_.all()) {
        infos.push_back({.name = device->name(),
                         .model = device->model(),
                         .memory = gpu_memory_.capacity(device->index()),
                         .multiprocessors = device->multiprocessors(),
                         .emulated = device->emulated()});
    }
    return infos;
}

RunMachine Engine::run_machine() const {
    RunMachine machine{cpu_model(), config_.workers, {}};
    const auto& devices = gpus_.all();
    for (std::size_t first = 0; first < devices.size();) {
        const std::string& model = devices[first]->model();
        std::size_t last = first;
        while (last < devices.size() && devices[last]->model() == model) ++last;
        machine.gpus += (first > 0 ? ", " : "") + std::to_string(last - first) + " x " + model;
        first = last;
    }
    if (config_.gpu_memory > 0) machine.gpus += ", " + std::to_string(config_.gpu_memory) + " bytes of each";
    return machine;
}

Statistics Engine::statistics() {
    Statistics sum = graph_.statistics();
    sum.most_gpu_bytes = gpu_memory_.most_in_use();
    sum.by_name = observers_.by_name();
    return sum;
}

}  // namespace basalt::detail
