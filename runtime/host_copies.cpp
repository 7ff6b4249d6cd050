// Copies between the host's memory and data on GPUs beside those of whole data: pinned memory of the user's, past the
// data's memory on the host, and parts of data.
#include <cassert>
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

std::size_t row_bytes(const Datum& datum) { return datum.element_size * static_cast<std::size_t>(datum.cols); }

/// The record's first element, where the datum's lies at `base`.
std::byte* first_element(const AccessRecord& record, void* base) {
    const Datum& datum = *record.datum;
    return static_cast<std::byte*>(base) + row_bytes(datum) * static_cast<std::size_t>(record.row_begin) +
           datum.element_size * static_cast<std::size_t>(record.col_begin);
}

}  // namespace

/// copy_at(bases): what is copied when the records' data lie at these addresses, those of the first `at_home` in the
/// host's memory.
template <class F>
void Engine::submit_copy(const TaskOptions& options, const std::array<AccessRecord, 2>& records, std::size_t count,
                         std::uint32_t at_home, int device, StreamRole role, const F& copy_at) {
    Scope& scope = current_scope();
    if (&scope != &root_)
        throw UsageError("task '" + std::string(options.name.c_str()) + "': inside a task the data are where they are");
    throttle(scope);
    const std::lock_guard guard(scope.lock);
    if (scope.drained()) return;
    TaskSubmission submission(*this, scope, slot_cache(scope));
    submission.set_options(options, 1);
    std::array<void*, 2> bases{};
    submission.bind_accesses(records.data(), count, NothingOps::ops, bases.data());
    DeviceWork& work = submission.place_on_stream(device, role, bases.data(), at_home);
    NothingOps::Source kernels{};
    submission.store_kernel(NothingOps::ops, &kernels, nullptr);

    const Copy copy = copy_at(bases);
    work.bytes = static_cast<std::int64_t>(copy.row_bytes * copy.rows);
    work.operation = [copy, role, &scope](Driver& driver, Enqueued&) {
        if (!scope.drained()) driver.copy(role, nullptr, copy);
    };
    ++scope.user_tasks;
    submission.record_hazards();
    coherence_->commit(submission, node_of_device(device));
    release_submission(submission);
}

void Engine::submit_host_copy(const TaskOptions& options, const AccessRecord& record, int device,
                              const HostWindow& window) {
    const bool inwards = record.mode == AccessMode::write;
    submit_copy(
        options, {record, {}}, 1, 0, device, inwards ? StreamRole::from_host : StreamRole::to_host,
        [&](const std::array<void*, 2>& bases) { return copy_of(window, first_element(record, bases[0]), inwards); });
}

void Engine::submit_fetch(const TaskOptions& options, const AccessRecord& from, const AccessRecord& to, int device) {
    assert(from.datum != to.datum && from.row_end - from.row_begin == to.row_end - to.row_begin &&
           from.col_end - from.col_begin <= to.col_end - to.col_begin);
    submit_copy(options, {from, to}, 2, 1, device, StreamRole::from_host, [&](const std::array<void*, 2>& bases) {
        return Copy{first_element(to, bases[1]),
                    first_element(from, bases[0]),
                    from.datum->element_size * static_cast<std::size_t>(from.col_end - from.col_begin),
                    static_cast<std::size_t>(from.row_end - from.row_begin),
                    row_bytes(*to.datum),
                    row_bytes(*from.datum)};
    });
}

void Engine::abandon_contents(const Datum& datum) {
    const std::lock_guard guard(root_.lock);
    abandon(*datum.current);
}

}  // namespace basalt::detail
