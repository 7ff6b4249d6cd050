#include "runtime/engine/runtime_link.hpp"

#include <mutex>

namespace basalt::detail {

RuntimeLinks& RuntimeLinks::of_process() {
    static auto* const links = new RuntimeLinks;  // never destroyed: handles may be static objects of the program
    return *links;
}

RuntimeLink& RuntimeLinks::take(Runtime& runtime) {
    const std::lock_guard guard(lock_);
    if (free_.empty()) {
        free_.reserve(links_.size() + 1);  // so that give_back() never allocates
        free_.push_back(links_.emplace_back(std::make_unique<RuntimeLink>()).get());
    }
    RuntimeLink& link = *free_.back();
    free_.pop_back();
    link.runtime = &runtime;
    // release: a thread that finds its handle's tenant there sees the runtime
    link.tenant.fetch_add(1, std::memory_order_release);
    return link;
}

void RuntimeLinks::give_back(RuntimeLink& link) noexcept {
    link.tenant.fetch_add(1, std::memory_order_release);
    const std::lock_guard guard(lock_);
    free_.push_back(&link);
}

RuntimePlace::RuntimePlace(Runtime& runtime)
    : link_(&RuntimeLinks::of_process().take(runtime)), tenant_(link_->tenant.load(std::memory_order_relaxed)) {}

RuntimePlace::~RuntimePlace() { RuntimeLinks::of_process().give_back(*link_); }

void RuntimePlace::lead_to(const TaskGraph& graph) const { link_->graph = &graph; }

namespace {

/// The link as long as it leads to the runtime of that tenant.
const RuntimeLink* living(const RuntimeLink* link, std::uint32_t tenant) {
    return link != nullptr && link->tenant.load(std::memory_order_acquire) == tenant ? link : nullptr;
}

}  // namespace

Runtime* HandleAccess::runtime(const TaskHandle& handle) {
    const RuntimeLink* link = living(handle.link_, handle.tenant_);
    return link != nullptr ? link->runtime : nullptr;
}

const TaskGraph* HandleAccess::graph(const TaskHandle& handle) {
    const RuntimeLink* link = living(handle.link_, handle.tenant_);
    return link != nullptr ? link->graph : nullptr;
}

}  // namespace basalt::detail
