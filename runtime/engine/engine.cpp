#include "runtime/engine/engine.hpp"

#include <exception>
#include <string>

#include <spdlog/spdlog.h>

#include "base/machine.hpp"
#include "base/topology.hpp"
#include "runtime/engine/settings.hpp"

namespace basalt::detail {

namespace {

std::vector<std::unique_ptr<Worker>> make_workers(const Config& config) {
    std::vector<std::unique_ptr<Worker>> workers;
    for (int place = 0; place < config.workers; ++place) {
        workers.push_back(std::make_unique<Worker>(place, config.bind ? package_of(place) : 0));
    }
    return workers;
}

/// Workers, a thread of the user's outside tasks, and for an emulated GPU those of the streams that run kernels.
int threads_that_compute(const Config& config, const Gpus& gpus) {
    constexpr int computing_streams = 2;
    const bool emulated = gpus.count() > 0 && !gpus.has_real();
    return config.workers + 1 + (emulated ? computing_streams * gpus.count() : 0);
}

}  // namespace

Engine::Engine(const Config& config)
    : gpus_(open_devices(config)),
      config_(checked(config, gpus_.all())),
      tuning_(tuning_for(config, gpus_.all())),
      models_(config.models.empty() ? nullptr : std::make_unique<const RunModels>(config.models)),
      blas_buffers_(threads_that_compute(config_, gpus_)),
      workers_(make_workers(config_)),
      ready_(config_.scheduler, config_.workers, parking_),
      dispatch_(ready_),
      graph_(dispatch_),
      trace_(config_.workers, gpus_.count()),
      kernels_(graph_, trace_),
      completion_(graph_, ready_, dispatch_, parking_),
      pinned_(gpus_.all(), Sockets(workers_).with_most_workers()),
      coherence_(gpus_.count() > 0 ? std::make_unique<Coherence>(graph_, gpus_.all(), config_.gpu_memory) : nullptr),
      gangs_(workers_, pinned_.package(), parking_, kernels_),
      outside_(parking_, &graph_.root()),
      progress_(graph_, parking_, outside_),
      loop_({graph_.root(), ready_, gangs_, kernels_, completion_, parking_, progress_, outside_, gpus_.has_real()}),
      drivers_(make_drivers()),
      waiting_({graph_, *workers_.front(), loop_, progress_, outside_, coherence_.get(), before_wait_}),
      user_graphs_(graph_, waiting_),
      window_(config_.window, waiting_, progress_),
      placement_(gpus_, coherence_.get()),
      submission_({graph_, window_, placement_, ready_, dispatch_, outside_, config_.workers, gpus_.count() > 0}),
      data_(graph_, submission_, waiting_, coherence_.get()),
      host_copies_(graph_, window_, placement_),
      gpu_data_(graph_, gpus_, coherence_.get()),
      gpu_memory_(graph_.root().order, gpus_, coherence_ != nullptr ? &coherence_->memory() : nullptr),
      threads_({graph_, workers_, parking_, outside_, progress_, loop_, config_.bind}) {
    for (const auto& worker : workers_) progress_.count(*worker);
    for (const auto& driver : drivers_) progress_.count(driver->worker());
    for (const auto& driver : drivers_) dispatch_.add(*driver);
    for (const auto& driver : drivers_) driver->watch_device();
    if (config_.trace) trace_.start();
    start_threads();
}

void Engine::start_threads() {
    threads_.start();
    try {
        // before any work is queued: a queue without its thread would never become empty
        for (const auto& driver : drivers_) driver->start();
    } catch (...) {  // the system allows no more threads
        for (const auto& driver : drivers_) driver->stop();
        threads_.stop();
        throw;
    }
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
    user_graphs_.end();
    waiting_.drain("a Runtime");
    {
        const SubmissionTarget housekeeping(graph_, graph_.housekeeping());
        waiting_.drain("a Runtime");
    }
    before_end_.run_all();
    data_.release_all();  // of arrays that outlive the runtime
    for (const auto& driver : drivers_) driver->stop();
    threads_.stop();
}

std::vector<std::unique_ptr<Driver>> Engine::make_drivers() {
    if (gpus_.count() == 0) return {};
    const Driver::Parts parts{graph_, gpus_.all(),          kernels_,     completion_,        progress_,
                              trace_, coherence_->memory(), config_.bind, config_.gpu_streams};
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
    return sum;
}

}  // namespace basalt::detail
