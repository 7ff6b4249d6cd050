#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "base/spin_lock.hpp"

namespace basalt::detail {

/// Ready tasks of a run that one place keeps, by the rank of their priority: the newest of the highest rank from one
/// end, for the place, and the oldest from the other, for others.
class alignas(64) ReplayQueue {
  public:
    using Task = std::uint32_t;
    static constexpr std::uint32_t most_ranks = 64;

    explicit ReplayQueue(std::uint32_t ranks) : stacks_(ranks) {}

    /// Whether pop() and steal() may find something. Relaxed: who must not miss a task says itself how.
    bool empty() const { return size_.load(std::memory_order_relaxed) == 0; }

    /// rank(task): below the number of ranks. The last one is on top.
    template <class Rank>
    void push(const Task* tasks, std::size_t count, const Rank& rank) {
        const std::lock_guard guard(lock_);
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint32_t r = rank(tasks[i]);
            stacks_[r].tasks.push_back(tasks[i]);
            filled_ |= std::uint64_t{1} << r;
        }
        size_.store(size() + count, std::memory_order_relaxed);
    }
    /// expect(task): the one that pop() most probably returns next.
    template <class Expect>
    std::optional<Task> pop(const Expect& expect) {
        if (empty()) return std::nullopt;
        const std::lock_guard guard(lock_);
        if (filled_ == 0) return std::nullopt;
        const std::uint32_t rank = highest();
        Stack& stack = stacks_[rank];
        const Task task = stack.tasks.back();
        stack.tasks.pop_back();
        if (stack.tasks.size() > stack.first) expect(stack.tasks.back());
        note_taken(rank, 1);
        return task;
    }
    /// Moves the older half of the highest rank, at most `most`, to `taken`: the newest first.
    void steal(std::vector<Task>& taken, std::size_t most) {
        if (empty()) return;
        const std::lock_guard guard(lock_);
        if (filled_ == 0) return;
        const std::uint32_t rank = highest();
        Stack& stack = stacks_[rank];
        const std::size_t count = std::min(most, (stack.tasks.size() - stack.first + 1) / 2);
        const auto begin = stack.tasks.begin() + static_cast<std::ptrdiff_t>(stack.first);
        taken.insert(taken.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
        std::reverse(taken.end() - static_cast<std::ptrdiff_t>(count), taken.end());
        stack.first += count;
        note_taken(rank, count);
    }

  private:
    /// Keeps its memory when it is empty.
    struct Stack {
        std::vector<Task> tasks;
        std::size_t first = 0;  ///< those before it were stolen
    };

    std::size_t size() const { return size_.load(std::memory_order_relaxed); }
    std::uint32_t highest() const { return static_cast<std::uint32_t>(std::bit_width(filled_) - 1); }
    void note_taken(std::uint32_t rank, std::size_t count) {
        Stack& stack = stacks_[rank];
        if (stack.first == stack.tasks.size()) {
            stack.tasks.clear();
            stack.first = 0;
            filled_ &= ~(std::uint64_t{1} << rank);
        }
        size_.store(size() - count, std::memory_order_relaxed);
    }

    SpinLock lock_;  // guards what follows
    std::atomic<std::size_t> size_{0};
    std::uint64_t filled_ = 0;  ///< ranks that have tasks
    std::vector<Stack> stacks_;
};

}  // namespace basalt::detail
