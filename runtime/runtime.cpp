#include "basalt/runtime.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>

#include "basalt/array.hpp"
#include "runtime/engine/engine.hpp"

namespace basalt {

std::string TileIndex::text() const {
    std::string text;
    for (const int index : indices_) {
        if (index == absent) break;
        if (!text.empty()) text += ',';
        text += std::to_string(index);
    }
    return text;
}

TaskName TaskName::intern(std::string_view text) {
    static std::mutex lock;
    static std::set<std::string, std::less<>> names;  // nodes never move
    const std::lock_guard guard(lock);
    auto it = names.find(text);
    if (it == names.end()) it = names.emplace(text).first;
    return {it->c_str(), Interned{}};
}

Runtime::Runtime(const Config& config) : engine_(std::make_unique<detail::Engine>(config)) {}
Runtime::~Runtime() = default;

void Runtime::wait() { engine_->waiting().wait(); }
bool Runtime::wait_for(std::chrono::nanoseconds limit) { return engine_->waiting().wait_for(limit); }
void Runtime::cancel() { engine_->waiting().cancel(); }
bool Runtime::cancelled() const { return engine_->waiting().cancelled(); }
int Runtime::workers() const { return engine_->config().workers; }
int Runtime::gpus() const { return engine_->gpus().count(); }
std::vector<DeviceInfo> Runtime::devices() const { return engine_->device_infos(); }
void Runtime::prefetch(const detail::AccessRecord& record, Place place, int priority, std::optional<int> step) {
    engine_->gpu_data().prefetch(record, place, {priority, step});
}
void Runtime::broadcast(const detail::AccessRecord& record, int priority, std::optional<int> step) {
    engine_->gpu_data().broadcast(record, {priority, step});
}
const Config& Runtime::config() const { return engine_->config(); }
const Tuning& Runtime::tuning() const { return engine_->tuning(); }
std::optional<RunEstimate> Runtime::expected_run(const RunCase& run, FactorMode mode) const {
    const RunModels* models = engine_->models();
    return models != nullptr ? models->estimate(engine_->run_machine(), run, mode) : std::nullopt;
}
void Runtime::learn_run(const RunCase& run, FactorMode mode, const std::vector<double>& seconds) const {
    if (const RunModels* models = engine_->models()) models->record(engine_->run_machine(), run, mode, seconds);
}
Statistics Runtime::statistics() const { return engine_->statistics(); }
void Runtime::start_trace() { engine_->trace().start(); }
Trace Runtime::take_trace() { return engine_->trace().take(); }

namespace detail {

void submit(Engine& engine, const TaskOptions& options, const AccessRecord* records, std::size_t count,
            const KernelOps& ops, void* source) {
    engine.submission().submit(options, records, count, ops, source);
}

std::string default_name(const char* stem) {
    static std::atomic<std::uint64_t> number{0};
    return std::string(stem) + "#" + std::to_string(++number);
}

}  // namespace detail

}  // namespace basalt
