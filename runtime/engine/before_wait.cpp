#include "runtime/engine/before_wait.hpp"

#include <algorithm>
#include <utility>

namespace basalt::detail {

namespace {

/// Whether it never had an owner, not even one that is gone.
bool is_empty_owner(const std::weak_ptr<const void>& owner) {
    const std::weak_ptr<const void> none;
    return !owner.owner_before(none) && !none.owner_before(owner);
}

}  // namespace

void BeforeWait::add(std::weak_ptr<const void> owner, const void* key, std::function<void()> action) {
    const std::lock_guard guard(lock_);
    entries_.push_back({std::move(owner), key, std::move(action)});
}

void BeforeWait::run(const void* key) {
    std::function<void()> action;
    {
        const std::lock_guard guard(lock_);
        const auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.key == key; });
        if (entry == entries_.end()) return;
        action = std::move(entry->action);
        entries_.erase(entry);
    }
    action();
}

void BeforeWait::run_all() {
    while (true) {
        std::shared_ptr<const void> owner;
        std::function<void()> action;
        {
            const std::lock_guard guard(lock_);
            const auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) {
                return (owner = e.owner.lock()) != nullptr || is_empty_owner(e.owner);
            });
            if (entry == entries_.end()) return;
            action = std::move(entry->action);
            entries_.erase(entry);
        }
        action();
    }
}

}  // namespace basalt::detail
