// Settings, runtimes, and what they tell.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <string_view>

#include "basalt/settings.hpp"
#include "basalt/trace.hpp"
#include "basalt/version.hpp"
#include "capi/objects.hpp"
#include "io/trace/trace_file.hpp"

namespace basalt::capi {

Runtime& RuntimeLife::runtime() const {
    const std::lock_guard lock(mutex_);
    if (runtime_ == nullptr) throw UsageError("the runtime has ended");
    return *runtime_;
}
void RuntimeLife::add(basalt_factors& factors) {
    const std::lock_guard lock(mutex_);
    factors_.insert(&factors);
}
void RuntimeLife::remove(basalt_factors& factors) {
    const std::lock_guard lock(mutex_);
    factors_.erase(&factors);
}
void RuntimeLife::end() {
    const std::lock_guard lock(mutex_);
    for (basalt_factors* factors : factors_) {
        std::visit([](auto& f) { f = {}; }, factors->factors);
    }
    factors_.clear();
    runtime_ = nullptr;
}

Place place_of(basalt_place place) {
    require_range("place", place, BASALT_ANY, BASALT_GPU(Config::most_gpus - 1));
    if (place == BASALT_ANY) return Place::any();
    return place == BASALT_CPU ? Place::cpu() : Place::gpu(place - BASALT_GPU(0));
}

std::chrono::nanoseconds limit_of(double seconds) {
    constexpr double most = 1e9;
    if (!(seconds >= 0)) throw UsageError("seconds is " + std::to_string(seconds) + "; allowed is 0 or more");
    return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(seconds, most) * 1e9));
}

Triangle triangle_of(basalt_triangle triangle) {
    require_range("triangle", triangle, BASALT_LOWER, BASALT_UPPER);
    return triangle == BASALT_LOWER ? Triangle::lower : Triangle::upper;
}

QrSide side_of(basalt_side side) {
    require_range("side", side, BASALT_LEFT, BASALT_RIGHT);
    return side == BASALT_LEFT ? QrSide::left : QrSide::right;
}

QrOp op_of(basalt_op op) {
    require_range("op", op, BASALT_PLAIN, BASALT_TRANSPOSED);
    return op == BASALT_PLAIN ? QrOp::plain : QrOp::transposed;
}

}  // namespace basalt::capi

using basalt::capi::guarded;
using basalt::capi::required;

static_assert(BASALT_VERSION_MAJOR == 0 && BASALT_VERSION_MINOR == 1 && BASALT_VERSION_PATCH == 0 &&
                  std::string_view(basalt::version) == "0.1.0",
              "basalt_runtime.h and version.hpp have the same version");

int basalt_version_number() { return 10000 * BASALT_VERSION_MAJOR + 100 * BASALT_VERSION_MINOR + BASALT_VERSION_PATCH; }
const char* basalt_version_text() { return basalt::version; }

basalt_status basalt_settings_create(basalt_settings** settings) {
    return guarded(__func__,
                   [&] { required(settings, "settings") = new basalt_settings{basalt::Config::from_environment()}; });
}
void basalt_settings_destroy(basalt_settings* settings) { delete settings; }
basalt_status basalt_settings_set(basalt_settings* settings, const char* name, const char* value) {
    return guarded(__func__, [&] {
        basalt::set_by_name(required(settings, "settings").config, &required(name, "name"), &required(value, "value"));
    });
}
const char* basalt_setting_names() {
    static const std::string all = [] {
        std::string text;
        for (const std::string& name : basalt::setting_names()) text += (text.empty() ? "" : " ") + name;
        return text;
    }();
    return all.c_str();
}

basalt_status basalt_runtime_create(const basalt_settings* settings, basalt_runtime** runtime) {
    return guarded(__func__, [&] {
        auto& made = required(runtime, "runtime");
        made = new basalt_runtime(settings != nullptr ? settings->config : basalt::Config::from_environment());
    });
}
basalt::Runtime& basalt_runtime_in_cpp(basalt_runtime& runtime) { return runtime.runtime; }
void basalt_runtime_destroy(basalt_runtime* runtime) { delete runtime; }
int basalt_runtime_workers(const basalt_runtime* runtime) {
    return runtime != nullptr ? runtime->runtime.workers() : 0;
}
int basalt_runtime_gpus(const basalt_runtime* runtime) { return runtime != nullptr ? runtime->runtime.gpus() : 0; }

basalt_status basalt_wait(basalt_runtime* runtime) {
    return guarded(__func__, [&] { required(runtime, "runtime").runtime.wait(); });
}
basalt_status basalt_wait_for(basalt_runtime* runtime, double seconds) {
    return guarded(__func__, [&] {
        const auto limit = basalt::capi::limit_of(seconds);
        return required(runtime, "runtime").runtime.wait_for(limit) ? BASALT_OK : BASALT_TIMED_OUT;
    });
}
basalt_status basalt_cancel(basalt_runtime* runtime) {
    return guarded(__func__, [&] { required(runtime, "runtime").runtime.cancel(); });
}
bool basalt_cancelled(const basalt_runtime* runtime) {
    bool cancelled = false;
    guarded(__func__, [&] { cancelled = required(runtime, "runtime").runtime.cancelled(); });
    return cancelled;
}
basalt_status basalt_worker(int* worker) {
    return guarded(__func__, [&] { required(worker, "worker") = basalt::worker(); });
}

basalt_status basalt_runtime_statistics(const basalt_runtime* runtime, basalt_statistics* statistics) {
    return guarded(__func__, [&] {
        basalt_statistics& given = required(statistics, "statistics");
        const basalt::Statistics counted = required(runtime, "runtime").runtime.statistics();
        given = {counted.tasks, counted.edges, counted.renamed, counted.most_gpu_bytes};
    });
}

basalt_status basalt_trace_start(basalt_runtime* runtime) {
    return guarded(__func__, [&] { required(runtime, "runtime").runtime.start_trace(); });
}
basalt_status basalt_trace_write(basalt_runtime* runtime, const char* file) {
    return guarded(__func__, [&] {
        basalt::Runtime& traced = required(runtime, "runtime").runtime;
        const std::string name = &required(file, "file");
        std::ofstream out(name);
        if (!out) throw basalt::UsageError("file '" + name + "' cannot be written");
        basalt::write_chrome_trace(out, traced.take_trace());
        out.close();
        if (!out) throw basalt::Error("file '" + name + "' could not be written completely");
    });
}
