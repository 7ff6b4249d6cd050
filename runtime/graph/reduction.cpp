#include "runtime/graph/reduction.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "runtime/graph/thread_context.hpp"

namespace basalt::detail {

void* private_copy(void* share) {
    const auto& own = *static_cast<const Reduction::Share*>(share);
    return own.reduction->copy_for(own);
}

Reduction::Reduction(const TaskGraph& graph, const BoundAccess& region, void* base, const ReductionSpec& spec,
                     std::size_t workers)
    : graph_(graph),
      region_(region),
      target_(static_cast<std::byte*>(base) + spec.offset * static_cast<Index>(spec.ops->element_size)),
      ops_(*spec.ops),
      shape_(spec.shape),
      deterministic_(spec.order == Order::deterministic),
      identity_(ops_.element_size),
      copies_(deterministic_ ? deterministic_copies : workers) {
    std::memcpy(identity_.data(), spec.identity, identity_.size());
    if (deterministic_) last_.resize(copies_.size());
    for (std::size_t copy = 0; copy < (deterministic_ ? copies_.size() : 1); ++copy) shares_.push_back({this, copy});
}

bool Reduction::takes(const BoundAccess& region, const ReductionSpec& spec) const {
    return stage_ != Stage::closed && region_.row_begin == region.row_begin && region_.row_end == region.row_end &&
           region_.col_begin == region.col_begin && region_.col_end == region.col_end && &ops_ == spec.ops &&
           deterministic_ == (spec.order == Order::deterministic) &&
           std::memcmp(identity_.data(), spec.identity, identity_.size()) == 0;
}

void Reduction::add(TaskRef task, const Scope& graph, DependencySink& sink) {
    if (graphs_.empty() || graphs_.back() != &graph) {
        if (!has_tasks_of(graph)) graphs_.push_back(&graph);
    }
    if (!deterministic_) {
        sink.depend_on(before_);
        return add_to_group(members_, task, sink);
    }
    TaskRef& last = last_[next_];
    sink.depend_on(last.valid() ? last : before_);
    if (last.valid()) {
        members_.erase_if([&](TaskRef member) { return member == last; });
    }
    members_.push_back(task);
    last = task;
    next_ = (next_ + 1) % copies_.size();
}

bool Reduction::has_tasks_of(const Scope& graph) const {
    return std::find(graphs_.begin(), graphs_.end(), &graph) != graphs_.end();
}

/// The entry of a map stays where it is, so only the look-up needs the lock.
HostBuffer& Reduction::copy_of_thread() {
    const Worker& worker = *ThreadContext::worker_of(graph_);
    if (worker.post != Worker::Post::spare) return copies_[static_cast<std::size_t>(worker.place)];
    const std::lock_guard guard(spares_lock_);
    return spare_copies_[worker.number];
}

void* Reduction::copy_for(const Share& share) {
    HostBuffer& copy = deterministic_ ? copies_[share.copy] : copy_of_thread();
    if (copy.data() == nullptr) {
        HostBuffer fresh(ops_.element_size * static_cast<std::size_t>(shape_.rows * shape_.cols));
        ops_.initialise(fresh.data(), shape_.without_gaps(), identity_.data());
        copy = std::move(fresh);
    }
    return copy.data();
}

bool Reduction::large() const {
    constexpr Index least_bytes = 1 << 16;
    return shape_.rows * shape_.cols * static_cast<Index>(ops_.element_size) >= least_bytes;
}

void Reduction::combine_range(std::size_t begin, std::size_t end) noexcept {
    if (end - begin < 2) return;
    const std::size_t half = middle(begin, end);
    combine_range(begin, half);
    combine_range(half, end);
    combine_pair(begin, half);
}

void Reduction::combine_pair(std::size_t first, std::size_t second) noexcept {
    combine_copies(copies_[first], std::move(copies_[second]));
}

void Reduction::combine_copies(HostBuffer& into, HostBuffer from) noexcept {
    if (from.data() == nullptr) return;
    if (into.data() == nullptr) {
        into = std::move(from);
        return;
    }
    try {
        ops_.combine(into.data(), shape_.without_gaps(), from.data(), shape_.without_gaps());
    } catch (...) {
        note_error();
    }
}

void Reduction::finish() noexcept {
    // few: a spare thread works only while a task waits with a limit
    for (auto& [number, copy] : spare_copies_) combine_copies(copies_[0], std::move(copy));
    if (copies_[0].data() == nullptr) return;
    try {
        ops_.combine(target_, shape_, copies_[0].data(), shape_.without_gaps());
    } catch (...) {
        note_error();
    }
}

std::string Reduction::end() noexcept {
    std::vector<HostBuffer>().swap(copies_);
    spare_copies_.clear();
    const std::lock_guard guard(error_lock_);
    return std::exchange(error_, {});
}

void Reduction::note_error() noexcept {
    const std::lock_guard guard(error_lock_);
    if (!error_.empty()) return;
    try {
        throw;
    } catch (const std::exception& error) {
        error_ = error.what();
    } catch (...) {
    }
    if (error_.empty()) error_ = "an exception without a text";
}

}  // namespace basalt::detail
