#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace basalt::detail {

/// The ranges of host memory that were pinned by us, and how often each: the first pin() registers a range,
/// the last unpin() gives it back, and what somebody else registered stays theirs. Safe to use from several
/// threads.
class PinnedRanges {
  public:
    /// `register_range()` is called for the first pin of a range and returns whether it is ours to give back.
    template <class Register>
    void pin(void* begin, const Register& register_range) {
        const std::lock_guard lock(mutex_);
        const auto found = counts_.find(begin);
        if (found != counts_.end()) {
            ++found->second;
        } else if (register_range()) {
            counts_.emplace(begin, 1);
        }
    }

    /// `unregister_range()` is called for the last one.
    template <class Unregister>
    void unpin(void* begin, const Unregister& unregister_range) {
        const std::lock_guard lock(mutex_);
        const auto found = counts_.find(begin);
        if (found == counts_.end() || --found->second > 0) return;
        counts_.erase(found);
        unregister_range();
    }

    std::size_t size() const {
        const std::lock_guard lock(mutex_);
        return counts_.size();
    }

  private:
    mutable std::mutex mutex_;
    std::map<void*, int> counts_;  // guarded by mutex_
};

}  // namespace basalt::detail
