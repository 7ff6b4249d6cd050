#pragma once

#include <optional>
#include <span>

#include "basalt/config.hpp"
#include "runtime/observe/diary.hpp"
#include "runtime/observe/drawn_graph.hpp"

namespace basalt::detail {

/// What is kept of submitted tasks for those who look inside: the watchdog and a drawing of the graph.
class SubmissionLog {
  public:
    explicit SubmissionLog(const Config& config) {
        if (config.watchdog.count() > 0) diary_.emplace();
        if (config.drawing) drawing_.emplace(*config.drawing);
    }

    /// Whether there is anything to keep. Does not change.
    bool is_on() const { return diary_ || drawing_; }
    /// A task of the user's is being submitted, to run after some others and to take part in reductions; under its
    /// order's lock.
    void note(const Task& task, std::span<const TaskHandle> after, DrawnGraph::Reductions reductions) {
        if (diary_) diary_->note(task);
        if (drawing_) drawing_->note(task, after, reductions);
    }

    const std::optional<Diary>& diary() const { return diary_; }
    const std::optional<DrawnGraph>& drawing() const { return drawing_; }

  private:
    std::optional<Diary> diary_;
    std::optional<DrawnGraph> drawing_;
};

}  // namespace basalt::detail
