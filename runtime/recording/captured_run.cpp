#include "runtime/recording/captured_run.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <string>

#include "basalt/error.hpp"

namespace basalt::detail {

namespace {

constexpr std::size_t most_instances = 4;
constexpr std::size_t argument_alignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

/// Tells streams apart; that of an emulated one has no native handle.
const void* key_of(Stream stream) { return stream.native() != nullptr ? stream.native() : &most_instances; }

std::string described(const RecordedGraph::Submitted& task, const std::exception& error) {
    return "recorded task '" + std::string(task.options.name.c_str()) + "': " + error.what();
}

/// Scratch memory is a task's for one run, but a captured kernel would use its address in all of them.
class NoScratchToCapture final : public StreamScratch {
    void* take(std::size_t) override { throw UsageError("Stream::scratch() in a kernel that is captured"); }
};

}  // namespace

std::unique_ptr<CapturedRun> CapturedRun::of(const RecordedGraph& recorded) {
    if (recorded.tasks.empty()) return nullptr;
    const Place place = recorded.tasks.front().options.place;
    const bool fits =
        place.is_gpu() && std::all_of(recorded.tasks.begin(), recorded.tasks.end(), [&](const auto& task) {
            return task.options.place == place && task.ops->run_on_device != nullptr;
        });
    // a kernel's arguments are moved there without a look at strides, which differ on a device
    const bool moves = std::none_of(recorded.data.begin(), recorded.data.end(), [](const RecordedDatum& datum) {
        return datum.by_columns && datum.ld != datum.cols;
    });
    return fits && moves ? std::make_unique<CapturedRun>(recorded, place.gpu_number()) : nullptr;
}

CapturedRun::CapturedRun(const RecordedGraph& recorded, int gpu) : recorded_(recorded), gpu_(gpu) {
    for (const RecordedGraph::Submitted& task : recorded.tasks) {
        emulates_ = emulates_ && task.ops->emulates;
        offsets_.push_back(argument_bytes_);
        const std::size_t bytes = task.ops->arguments_size;
        argument_bytes_ += (bytes + argument_alignment - 1) / argument_alignment * argument_alignment;
    }
}

CapturedRun::~CapturedRun() {
    for (Instance& instance : instances_) destroy_arguments(instance);
}

void CapturedRun::make_arguments(Instance& instance) {
    const std::size_t data = recorded_.data.size();
    std::vector<std::ptrdiff_t> shifts(data + 1, 0);  // the last one: of accesses without elements
    for (std::size_t i = 0; i < data; ++i) {
        shifts[i] = shift_of(recorded_.bases[i], instance.bases[i]);
    }
    instance.arguments.resize(argument_bytes_);
    for (instance.made = 0; instance.made < recorded_.tasks.size(); ++instance.made) {
        const RecordedGraph::Submitted& task = recorded_.tasks[instance.made];
        if (task.ops->arguments_size == 0) continue;
        task.ops->copy_arguments(instance.arguments.data() + offsets_[instance.made], task.kernel,
                                 {recorded_.data_of_accesses.data() + task.first_access, shifts.data()});
    }
}

void CapturedRun::destroy_arguments(Instance& instance) noexcept {
    for (; instance.made > 0; --instance.made) {
        const std::size_t i = instance.made - 1;
        const KernelOps& ops = *recorded_.tasks[i].ops;
        if (ops.destroy_arguments != nullptr) ops.destroy_arguments(instance.arguments.data() + offsets_[i]);
    }
}

CapturedRun::Instance& CapturedRun::instance_for(Stream stream, const std::vector<void*>& bases) {
    const auto known = std::find_if(instances_.begin(), instances_.end(), [&](const Instance& instance) {
        return instance.stream == key_of(stream) && instance.bases == bases;
    });
    if (known != instances_.end()) {
        instances_.splice(instances_.begin(), instances_, known);
        return instances_.front();
    }
    if (instances_.size() == most_instances) {  // its graph is updated to the new addresses
        instances_.splice(instances_.begin(), instances_, std::prev(instances_.end()));
        destroy_arguments(instances_.front());
    } else {
        instances_.emplace_front();
    }
    Instance& fresh = instances_.front();
    fresh.bases = bases;
    fresh.is_captured = false;
    fresh.stream = nullptr;  // not to be found if making the arguments fails
    make_arguments(fresh);
    fresh.stream = key_of(stream);
    return fresh;
}

void CapturedRun::call_kernels(Instance& instance, Stream stream) const {
    for (std::size_t i = 0; i < recorded_.tasks.size(); ++i) {
        const RecordedGraph::Submitted& task = recorded_.tasks[i];
        void* arguments = task.ops->arguments_size > 0 ? instance.arguments.data() + offsets_[i] : nullptr;
        try {
            task.ops->run_on_device(task.kernel, arguments, stream);
        } catch (const DeviceError& error) {
            throw DeviceError(described(task, error), error.device(), error.fault());
        } catch (const std::exception& error) {
            throw Error(described(task, error));
        }
    }
}

void CapturedRun::enqueue(Stream stream, const std::vector<void*>& bases) {
    const std::lock_guard guard(lock_);
    Instance& instance = instance_for(stream, bases);
    if (!warm_ || !capturable_) {
        call_kernels(instance, stream);
        warm_ = true;
        return;
    }
    if (stream.context()->emulated) {
        call_kernels(instance, stream);
    } else {
        if (!instance.is_captured) {
            NoScratchToCapture no_scratch;
            StreamContext context = *stream.context();
            context.scratch = &no_scratch;
            instance.is_captured = capturable_ =
                instance.graph.capture(stream, [&] { call_kernels(instance, Stream(&context)); });
        }
        if (!capturable_) return call_kernels(instance, stream);
        instance.graph.launch(stream);
    }
    launches_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace basalt::detail
