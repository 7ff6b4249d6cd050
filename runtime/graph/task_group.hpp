#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include "runtime/graph/task.hpp"

namespace basalt::detail {

/// The tasks that share a region: a list of references, the first few in place. clear() keeps the memory.
class TaskGroup {
  public:
    TaskGroup() = default;
    TaskGroup(const TaskGroup& other) { append(other); }
    TaskGroup(TaskGroup&& other) noexcept { swap(other); }
    TaskGroup& operator=(TaskGroup other) noexcept {
        swap(other);
        return *this;
    }

    void push_back(TaskRef task) {
        if (size_ == capacity_) grow();
        data()[size_++] = task;
    }
    void clear() { size_ = 0; }

    template <class Predicate>
    void erase_if(const Predicate& predicate) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < size_; ++i) {
            if (!predicate(data()[i])) data()[kept++] = data()[i];
        }
        size_ = kept;
    }

    /// Names each task once; the order is another one then.
    void erase_duplicates() {
        const auto before = [](const TaskRef& a, const TaskRef& b) {
            return std::pair(a.slot, a.generation) < std::pair(b.slot, b.generation);
        };
        std::sort(data(), data() + size_, before);
        size_ = static_cast<std::size_t>(std::unique(data(), data() + size_) - data());
    }

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const TaskRef* begin() const { return heap_ ? heap_.get() : few_.data(); }
    const TaskRef* end() const { return begin() + size_; }
    TaskRef back() const { return begin()[size_ - 1]; }

  private:
    static constexpr std::size_t few = 4;

    TaskRef* data() { return heap_ ? heap_.get() : few_.data(); }
    void swap(TaskGroup& other) noexcept {
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
        std::swap(heap_, other.heap_);
        std::swap(few_, other.few_);
    }
    void append(const TaskGroup& other) {
        for (const TaskRef task : other) push_back(task);
    }
    void grow() {
        const std::size_t larger = 4 * std::max(few, capacity_);
        auto memory = std::make_unique<TaskRef[]>(larger);
        std::copy(begin(), end(), memory.get());
        heap_ = std::move(memory);
        capacity_ = larger;
    }

    std::size_t size_ = 0;
    std::size_t capacity_ = few;
    std::unique_ptr<TaskRef[]> heap_;
    std::array<TaskRef, few> few_{};
};

}  // namespace basalt::detail
