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
    void pin(void* begin, std::size_t bytes, const Register& register_range) {
        const std::lock_guard lock(mutex_);
        const auto found = ranges_.find(begin);
        if (found != ranges_.end()) {
            ++found->second.count;
        } else if (register_range()) {
            ranges_.emplace(begin, Range{bytes, 1});
        }
    }

    /// `unregister_range()` is called for the last one.
    template <class Unregister>
    void unpin(void* begin, const Unregister& unregister_range) {
        const std::lock_guard lock(mutex_);
        const auto found = ranges_.find(begin);
        if (found == ranges_.end() || --found->second.count > 0) return;
        ranges_.erase(found);
        unregister_range();
    }

    /// Whether one of the ranges holds all of `bytes` bytes from `begin` on.
    bool hold(const void* begin, std::size_t bytes) const {
        const std::lock_guard lock(mutex_);
        auto range = ranges_.upper_bound(const_cast<void*>(begin));
        if (range == ranges_.begin()) return false;
        --range;
        return static_cast<const std::byte*>(begin) + bytes <=
               static_cast<const std::byte*>(range->first) + range->second.bytes;
    }

    std::size_t size() const {
        const std::lock_guard lock(mutex_);
        return ranges_.size();
    }

  private:
    mutable std::mutex mutex_;
    struct Range {
        std::size_t bytes;
        int count;
    };
    std::map<void*, Range> ranges_;  // guarded by mutex_
};

}  // namespace basalt::detail
