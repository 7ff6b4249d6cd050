#include "runtime/engine/host_copies.hpp"

#include <cassert>
#include <mutex>
#include <string>
#include <utility>

namespace basalt::detail {

namespace {

using NoWorkOps = PlainOps<NoWork, NoKernel>;

/// The copy between the window and `on_device`, where its rows are contiguous.
Copy copy_of(const HostWindow& window, void* on_device, StreamRole direction) {
    Copy copy{on_device, window.memory, window.row_bytes, window.rows, window.row_bytes, window.pitch};
    if (direction == StreamRole::from_host) return copy;
    std::swap(copy.to_pitch, copy.from_pitch);
    copy.to = window.memory;
    copy.from = on_device;
    return copy;
}

/// The record's first element, where the datum's lies at `base`.
std::byte* first_element(const AccessRecord& record, void* base) {
    const Datum& datum = *record.datum;
    return static_cast<std::byte*>(base) + datum.row_bytes() * static_cast<std::size_t>(record.row_begin) +
           datum.element_size * static_cast<std::size_t>(record.col_begin);
}

}  // namespace

/// A copy on one stream of one device.
struct HostCopies::Request {
    std::array<AccessRecord, 2> records;
    std::size_t count;      ///< of the records
    std::uint32_t at_home;  ///< of them, the first ones, that are to the host's memory
    int device;
    StreamRole role;
};

/// copy_at(bases): what is copied when the records' data lie at these addresses.
template <class F>
void HostCopies::submit(const TaskOptions& options, const Request& request, const F& copy_at) {
    graph_.refuse_while_recording("a copy");
    Scope& scope = graph_.current_scope();
    if (scope.owner != nullptr)
        throw UsageError("task '" + std::string(options.name.c_str()) + "': inside a task the data are where they are");
    window_.make_room(scope);
    const std::lock_guard guard(scope.order.lock);
    TaskBuilder builder(graph_, scope);
    std::array<void*, 2> bases{};
    if (scope.drained()) {
        builder.bind_dropped(options, request.records.data(), request.count, bases.data());
        return builder.submit_dropped();
    }
    builder.set_options(options, 1);
    builder.bind(request.records.data(), request.count, NoWorkOps::ops, bases.data());
    DeviceWork& work = placement_.place_on_stream(builder, request.device, request.role, bases.data(), request.at_home);
    builder.store_no_kernel();

    const Copy copy = copy_at(bases);
    work.bytes = static_cast<std::int64_t>(copy.row_bytes * copy.rows);
    work.operation = [copy, role = request.role](const DeviceTurn& turn) { enqueue_copy(turn.device, role, copy); };
    ++scope.order.user_tasks;
    builder.record_hazards();
    placement_.commit(builder, scope, node_of_device(request.device));
    builder.submit();
}

void HostCopies::submit_host_copy(const TaskOptions& options, const AccessRecord& record, int device,
                                  const HostWindow& window) {
    const StreamRole role = record.mode == AccessMode::write ? StreamRole::from_host : StreamRole::to_host;
    submit(options, {{record, {}}, 1, 0, device, role},
           [&](const std::array<void*, 2>& bases) { return copy_of(window, first_element(record, bases[0]), role); });
}

void HostCopies::submit_fetch(const TaskOptions& options, const AccessRecord& from, const AccessRecord& to,
                              int device) {
    assert(from.datum != to.datum && from.row_end - from.row_begin == to.row_end - to.row_begin &&
           from.col_end - from.col_begin <= to.col_end - to.col_begin);
    submit(options, {{from, to}, 2, 1, device, StreamRole::from_host}, [&](const std::array<void*, 2>& bases) {
        return Copy{first_element(to, bases[1]),
                    first_element(from, bases[0]),
                    from.datum->element_size * static_cast<std::size_t>(from.col_end - from.col_begin),
                    static_cast<std::size_t>(from.row_end - from.row_begin),
                    to.datum->row_bytes(),
                    from.datum->row_bytes()};
    });
}

}  // namespace basalt::detail
