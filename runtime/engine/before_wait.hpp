#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace basalt::detail {

/// Actions that run once each: when the program next waits outside tasks, before it does, or when their owner ends.
/// A runtime has such actions for its own end, too. Thread-safe; actions may submit tasks.
class BeforeWait {
  public:
    /// `owner` is kept alive while the action runs; empty: the owner does not end while run_all() runs. `key` names the
    /// action.
    void add(std::weak_ptr<const void> owner, const void* key, std::function<void()> action);
    /// Runs the action of that name, if it has not run: for the owner at its end.
    void run(const void* key);
    /// Runs all of them, one after the other. The action of an owner that is just being destroyed is left to the owner.
    void run_all();

  private:
    struct Entry {
        std::weak_ptr<const void> owner;
        const void* key;
        std::function<void()> action;
    };
    std::mutex lock_;  // guards entries_; not held while an action runs
    std::vector<Entry> entries_;
};

}  // namespace basalt::detail
