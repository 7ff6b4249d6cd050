// Copies between memory of the user's and data on GPUs, past the data's memory on the host.
#include <mutex>

#include "runtime/engine.hpp"
#include "runtime/submission.hpp"

namespace basalt::detail {

namespace {

/// The device's work is all that there is to do.
struct Nothing {
    void operator()() const {}
};
using NothingOps = PlainOps<Nothing, NoKernel>;

/// Between the window and `on_device`, where the pieces lie one behind the other.
Copy copy_of(const HostWindow& window, void* on_device, bool inwards) {
    Copy copy{on_device, window.memory, window.row_bytes, window.rows, window.row_bytes, window.pitch};
    if (inwards) return copy;
    std::swap(copy.to_pitch, copy.from_pitch);
    copy.to = window.memory;
    copy.from = on_device;
    return copy;
}

}  // namespace

void Engine::submit_host_copy(const TaskOptions& options, const AccessRecord& record, int device,
                              const HostWindow& window) {
    Scope& scope = current_scope();
    if (&scope != &root_)
        throw UsageError("task '" + std::string(options.name.c_str()) + "': inside a task the data are where they are");
    throttle(scope);
    const std::lock_guard guard(scope.lock);
    if (scope.drained()) return;
    const bool inwards = record.mode == AccessMode::write;
    TaskSubmission submission(*this, scope, slot_cache(scope));
    submission.set_options(options, 1);
    void* base = nullptr;
    submission.bind_accesses(&record, 1, NothingOps::ops, &base);
    DeviceWork& work = submission.place_on_stream(device, inwards ? StreamRole::from_host : StreamRole::to_host, &base);
    NothingOps::Source kernels{};
    submission.store_kernel(NothingOps::ops, &kernels, nullptr);

    const Datum& datum = *record.datum;
    const std::size_t row = datum.element_size * static_cast<std::size_t>(datum.cols);
    const Copy copy =
        copy_of(window, static_cast<std::byte*>(base) + row * static_cast<std::size_t>(record.row_begin), inwards);
    work.bytes = static_cast<std::int64_t>(copy.row_bytes * copy.rows);
    work.operation = [copy, role = work.role, &scope](Driver& driver, Enqueued&) {
        if (!scope.drained()) driver.copy(role, nullptr, copy);
    };
    ++scope.user_tasks;
    submission.record_hazards();
    coherence_->commit(submission, node_of_device(device));
    release_submission(submission);
}

void Engine::abandon_contents(const Datum& datum) {
    const std::lock_guard guard(root_.lock);
    abandon(*datum.current);
}

}  // namespace basalt::detail
