#include "basalt/runtime.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>

#include "basalt/array.hpp"
#include "base/process.hpp"
#include "runtime/engine/engine.hpp"

namespace basalt {

namespace {

constinit std::mutex names_lock;
const detail::HeldDuringForks<names_lock> names_stay_whole;
/// The names of tasks; guarded by the lock. Nodes never move. Never destroyed: tasks may run until the process ends.
/// Made under the lock, since a child process would wait for another thread's static variable that is being made.
constinit std::set<std::string, std::less<>>* names = nullptr;

}  // namespace

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
    const std::lock_guard guard(names_lock);
    if (names == nullptr) names = new std::set<std::string, std::less<>>;
    auto it = names->find(text);
    if (it == names->end()) it = names->emplace(text).first;
    return {it->c_str(), Interned{}};
}

detail::Engine& Runtime::engine() const {
    engine_->require_current();
    return *engine_;
}

Runtime::Runtime(const Config& config) : engine_(std::make_unique<detail::Engine>(config)) {
    place_.lead_to(engine_->graph());
}
Runtime::~Runtime() {
    if (!engine_->is_current()) static_cast<void>(engine_.release());  // left behind, see ProcessMark
}

void Runtime::wait() { engine().waiting().wait(); }
bool Runtime::wait_for(std::chrono::nanoseconds limit) { return engine().waiting().wait_for(limit); }
void Runtime::cancel() { engine().waiting().cancel(); }
bool Runtime::cancelled() const { return engine().waiting().cancelled(); }
std::exception_ptr Runtime::error() const { return engine().waiting().error(); }
int Runtime::workers() const { return engine_->config().workers; }
int Runtime::worker_numbers() const { return workers() + detail::SpareThreads::most; }
int Runtime::gpus() const { return engine_->gpus().count(); }
std::vector<DeviceInfo> Runtime::devices() const { return engine_->device_infos(); }
const Config& Runtime::config() const { return engine_->config(); }
const Tuning& Runtime::tuning() const { return engine_->tuning(); }
std::optional<RunEstimate> Runtime::expected_run(const RunCase& run, FactorMode mode) const {
    const RunModels* models = engine_->models();
    return models != nullptr ? models->estimate(engine_->run_machine(), run, mode) : std::nullopt;
}
void Runtime::learn_run(const RunCase& run, FactorMode mode, const std::vector<double>& seconds) const {
    if (const RunModels* models = engine().models()) models->record(engine_->run_machine(), run, mode, seconds);
}
Statistics Runtime::statistics() const { return engine().statistics(); }
std::string Runtime::drawing() const {
    const auto& drawing = engine().submission_log().drawing();
    if (!drawing) throw UsageError("Runtime::drawing(): the runtime was made without Config::drawing");
    return drawing->dot();
}
void Runtime::start_trace() { engine().start_trace(); }
Trace Runtime::take_trace() { return engine().trace().take(); }

namespace detail {

Submitted submit(Engine& engine, const TaskOptions& options, const AccessRecord* records, std::size_t count,
                 const KernelOps& ops, void* source) {
    engine.require_current();
    return engine.submission().submit({options, {records, count}, ops, source});
}

Submitted submit_after(Engine& engine, const TaskOptions& options, const AccessRecord* records, std::size_t count,
                       const KernelOps& ops, void* source, std::span<const TaskHandle> after) {
    engine.require_current();
    return engine.submission().submit({options, {records, count}, ops, source, after});
}

std::string default_name(const char* stem) {
    static std::atomic<std::uint64_t> number{0};
    return std::string(stem) + "#" + std::to_string(++number);
}

}  // namespace detail

}  // namespace basalt
