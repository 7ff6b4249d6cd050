// Tasks whose kernels are C functions.
#include "capi/tasks.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "capi/accesses.hpp"
#include "capi/kernels.hpp"
#include "capi/objects.hpp"

namespace basalt::capi {

namespace {

constexpr int most_threads = Config::most_workers;

TaskOptions options_of_task(const basalt_task& task) {
    TaskOptions options;
    if (task.name != nullptr) options.name = TaskName::intern(task.name);
    options.priority = task.priority;
    require_range("task: min_threads", task.min_threads, 0, most_threads);
    require_range("task: max_threads", task.max_threads, 0, most_threads);
    options.threads.min = std::max(task.min_threads, 1);
    options.threads.max = std::max(task.max_threads, options.threads.min);
    options.place = place_of(task.place);
    if (task.size != 0) options.size = task.size;
    return options;
}

std::vector<TaskHandle> handles_before(const basalt_task& task) {
    std::vector<TaskHandle> handles;
    if (task.after_count > 0) required(task.after, "task: after");
    for (std::size_t i = 0; i < task.after_count; ++i) handles.push_back(handle_in(task.after[i]));
    return handles;
}

/// What submit() needs of a task. `user` becomes the runtime's when the task is submitted, and no earlier.
class Submission {
  public:
    explicit Submission(const basalt_task& task)
        : options_(options_of_task(task)),
          after_(handles_before(task)),
          accesses_(sorted_accesses(task)),
          places_(std::make_shared<const std::vector<ViewPlace>>(std::move(accesses_.views))),
          data_(std::make_shared<UserData>(task)) {}

    template <class Kernel>
    Kernel kernel(basalt_kernel function) const {
        return {{function, data_, places_}};
    }

    /// call(options, accesses and, if there are any, handles...).
    template <class Call>
    TaskHandle operator()(const Call& call) const {
        try {
            const auto& regions = accesses_.regions;
            const auto with = [&](const auto&... handles) {
                return call(options_, handles..., read(regions[BASALT_READ]), write(regions[BASALT_WRITE]),
                            readwrite(regions[BASALT_READWRITE]), commute(regions[BASALT_COMMUTE]));
            };
            return after_.empty() ? with() : with(after(after_));
        } catch (...) {
            data_->disown();
            throw;
        }
    }

  private:
    TaskOptions options_;
    std::vector<TaskHandle> after_;
    SortedAccesses accesses_;
    std::shared_ptr<const std::vector<ViewPlace>> places_;
    std::shared_ptr<UserData> data_;
};

/// basalt_call::inside, or what a call_ function is refused with.
CallInside& inside_of(const basalt_call* call) {
    return required(static_cast<CallInside*>(required(call, "call").inside), "call->inside");
}
const Stream& stream_of(const basalt_call* call) { return required(inside_of(call).stream, "call->stream"); }

}  // namespace

TaskHandle submit_task(Runtime& runtime, const basalt_task* given) {
    const basalt_task& task = required(given, "task");
    if (task.cpu == nullptr && task.cuda == nullptr) throw UsageError("task: cpu and cuda are NULL");
    const Submission submission(task);
    return submission([&](const TaskOptions& options, const auto&... accesses) {
        if (task.cuda == nullptr) {
            return runtime.submit(options, accesses..., submission.kernel<CpuKernel>(task.cpu));
        }
        auto on_gpu = cuda(submission.kernel<GpuKernel>(task.cuda));
        if (task.cpu == nullptr) return runtime.submit(options, accesses..., std::move(on_gpu));
        return runtime.submit(options, accesses..., submission.kernel<CpuKernel>(task.cpu), std::move(on_gpu));
    });
}

TaskHandle submit_loop(Runtime& runtime, const basalt_task* given, IndexRange range, Index grain) {
    const basalt_task& task = required(given, "task");
    required(task.cpu, "task: cpu");
    if (task.cuda != nullptr) throw UsageError("task: a loop has no cuda kernel");
    const Submission submission(task);
    return submission([&](const TaskOptions& options, const auto&... accesses) {
        return runtime.submit_for(options, range, grain, submission.kernel<ChunkKernel>(task.cpu), accesses...);
    });
}

void keep_handle(const TaskHandle& handle, basalt_handle* kept) {
    static_assert(std::is_trivially_copyable_v<TaskHandle> && sizeof(TaskHandle) <= sizeof(basalt_handle));
    if (kept == nullptr) return;
    *kept = {};
    std::memcpy(kept, &handle, sizeof handle);
}

TaskHandle handle_in(const basalt_handle& kept) {
    TaskHandle handle;
    if (basalt_handle{}.inside[0] == kept.inside[0]) return handle;  // zeroed by the caller: no task
    std::memcpy(static_cast<void*>(&handle), &kept, sizeof handle);
    return handle;
}

}  // namespace basalt::capi

namespace capi = basalt::capi;
using capi::guarded;
using capi::required;

basalt_status basalt_submit(basalt_runtime* runtime, const basalt_task* task, basalt_handle* handle) {
    return guarded(__func__,
                   [&] { capi::keep_handle(capi::submit_task(required(runtime, "runtime").runtime, task), handle); });
}
basalt_status basalt_submit_for(basalt_runtime* runtime, const basalt_task* task, int64_t begin, int64_t end,
                                int64_t grain, basalt_handle* handle) {
    return guarded(__func__, [&] {
        basalt::Runtime& here = required(runtime, "runtime").runtime;
        capi::keep_handle(capi::submit_loop(here, task, {begin, end}, grain), handle);
    });
}

basalt_status basalt_handle_wait(const basalt_handle* handle) {
    return guarded(__func__, [&] { capi::handle_in(required(handle, "handle")).wait(); });
}
basalt_status basalt_handle_wait_for(const basalt_handle* handle, double seconds) {
    return guarded(__func__, [&] {
        const auto limit = capi::limit_of(seconds);
        return capi::handle_in(required(handle, "handle")).wait_for(limit) ? BASALT_OK : BASALT_TIMED_OUT;
    });
}
bool basalt_handle_done(const basalt_handle* handle) {
    bool done = true;
    guarded(__func__, [&] { done = capi::handle_in(required(handle, "handle")).done(); });
    return done;
}

int basalt_call_fail(const basalt_call* call, const char* message) {
    guarded(__func__, [&] { capi::inside_of(call).message = message != nullptr ? message : "the kernel failed"; });
    return 1;
}
basalt_status basalt_call_barrier(const basalt_call* call) {
    return guarded(__func__, [&] { required(capi::inside_of(call).team, "the gang of the call").barrier(); });
}
basalt_status basalt_call_scratch(const basalt_call* call, size_t bytes, void** memory) {
    return guarded(__func__, [&] { required(memory, "memory") = capi::stream_of(call).scratch(bytes); });
}
basalt_status basalt_call_cublas(const basalt_call* call, void** handle) {
    return guarded(__func__, [&] { required(handle, "handle") = capi::stream_of(call).blas(); });
}
basalt_status basalt_call_cusolver(const basalt_call* call, void** handle) {
    return guarded(__func__, [&] { required(handle, "handle") = capi::stream_of(call).solver(); });
}
