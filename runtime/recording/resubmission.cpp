#include "runtime/recording/resubmission.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <numeric>
#include <vector>

#include "runtime/graph/datum.hpp"

namespace basalt::detail {

namespace {

/// What such a task stores; the arguments lie behind it.
struct alignas(alignof(std::max_align_t)) Borrowed {
    std::shared_ptr<const RecordedGraph> recorded;
    const KernelOps* ops;
    void* kernel;

    void* arguments() { return ops->arguments_size > 0 ? this + 1 : nullptr; }
    static Borrowed& at(void* storage) { return *std::launder(static_cast<Borrowed*>(storage)); }
};

/// Where an argument leads to in the new task.
struct Moved {
    std::ptrdiff_t shift = 0;  ///< in bytes, from where it led to when it was recorded
    Index packed_ld = 0;       ///< as in DataShifts
};
Moved moved_argument(const Resubmitted& from, std::size_t i, const void* base) {
    const RecordedAccess& a = from.access(i);
    if (a.empty()) return {};
    const std::byte* const recorded = from.recorded->bases[a.datum];
    const Datum& datum = *from.records[i].datum;
    const bool has_gaps = datum.by_columns && datum.ld != datum.cols;
    if (!has_gaps || base == datum.current->base) return {shift_of(recorded, base), 0};
    // on a device: the rows of the datum, which are the user's columns, follow each other
    const Index skipped = a.row_begin * (datum.ld - datum.cols);
    return {shift_of(recorded, base) - skipped * static_cast<Index>(datum.element_size), datum.cols};
}

void construct_borrowed(void* storage, void* source, void* const* bases) {
    const auto& from = *static_cast<const Resubmitted*>(source);
    const RecordedGraph::Submitted& task = from.task;
    const KernelOps& ops = *task.ops;
    std::vector<std::uint32_t> numbers(task.accesses);
    std::iota(numbers.begin(), numbers.end(), 0);
    std::vector<std::ptrdiff_t> shifts(task.accesses);
    std::vector<Index> packed_lds(task.accesses);
    for (std::size_t i = 0; i < shifts.size(); ++i) {
        const Moved moved = moved_argument(from, i, bases[i]);
        shifts[i] = moved.shift;
        packed_lds[i] = moved.packed_ld;
    }
    auto* borrowed = ::new (storage) Borrowed{from.recorded, &ops, task.kernel};
    if (ops.arguments_size == 0) return;
    try {
        ops.copy_arguments(borrowed->arguments(), task.kernel, {numbers.data(), shifts.data(), packed_lds.data()});
    } catch (...) {
        borrowed->~Borrowed();
        throw;
    }
}

void run_borrowed(void* storage, void*, const Team& team) {
    Borrowed& borrowed = Borrowed::at(storage);
    borrowed.ops->run(borrowed.kernel, borrowed.arguments(), team);
}

void run_borrowed_on_device(void* storage, void*, Stream stream) {
    Borrowed& borrowed = Borrowed::at(storage);
    borrowed.ops->run_on_device(borrowed.kernel, borrowed.arguments(), stream);
}

void destroy_borrowed(void* storage) noexcept {
    Borrowed& borrowed = Borrowed::at(storage);
    if (borrowed.ops->destroy_arguments != nullptr) borrowed.ops->destroy_arguments(borrowed.arguments());
    borrowed.~Borrowed();
}

KernelOps borrowing(const KernelOps& ops) {
    KernelOps result{};
    result.size = sizeof(Borrowed) + ops.arguments_size;
    result.align = alignof(Borrowed);
    result.construct = &construct_borrowed;
    if (ops.run != nullptr) result.run = &run_borrowed;
    if (ops.run_on_device != nullptr) result.run_on_device = &run_borrowed_on_device;
    result.destroy = &destroy_borrowed;
    result.emulates = ops.emulates;
    result.any_stream = ops.any_stream;
    result.binds_views = ops.binds_views;
    return result;
}

}  // namespace

const KernelOps& resubmission_of(const KernelOps& ops) {
    static std::mutex lock;
    static auto* const known = new std::map<const KernelOps*, KernelOps>;  // tasks may outlive static objects
    const std::lock_guard guard(lock);
    const auto [entry, fresh] = known->try_emplace(&ops);
    if (fresh) entry->second = borrowing(ops);
    return entry->second;
}

}  // namespace basalt::detail
