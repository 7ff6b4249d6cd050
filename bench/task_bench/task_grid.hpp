#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// Which tasks of the step before a task reads, as Task Bench defines them (Slaughter et al., "Task Bench: A
/// Parameterized Benchmark for Evaluating Parallel Runtime Performance", SC20, table II and the repository's
/// core/core.cc).
enum class Pattern {
    trivial,         ///< none
    no_comm,         ///< its own column
    stencil_1d,      ///< its own column and both neighbours
    fft,             ///< its own column and those 2^k away, k going round
    tree,            ///< the parent, column / 2; each step is twice as wide as the previous one, up to all columns
    dom,             ///< its own column and the left one: a sweep, whose steps widen at first and narrow at the end
    nearest,         ///< the five nearest columns
    spread,          ///< five columns a fifth of the width apart, which move with the step
    random_nearest,  ///< its own column, and each other one of the five nearest with a probability of a quarter
    all_to_all,      ///< all columns
};

const std::vector<std::string>& pattern_names();
/// Throws std::invalid_argument.
Pattern pattern_of(std::string_view name);

/// One task: its step and column from 0, and where TaskGrid keeps the columns that it reads.
struct GridTask {
    std::int32_t step;
    std::int32_t column;
    std::uint32_t first_input;
    std::uint32_t inputs;
};

/// The tasks of a pattern, step by step. Immutable, and computed beforehand: no system pays for the pattern itself.
class TaskGrid {
  public:
    /// `width` >= 1 columns, `steps` >= 1.
    TaskGrid(Pattern pattern, int width, int steps);

    int width() const { return width_; }
    int steps() const { return steps_; }
    const std::vector<GridTask>& tasks() const { return tasks_; }
    std::size_t inputs() const { return inputs_.size(); }

    /// Columns of the step before that the task reads, each once.
    std::span<const std::int32_t> inputs(const GridTask& task) const {
        return {inputs_.data() + task.first_input, task.inputs};
    }
    /// The number of a task in tasks(). It must exist.
    std::size_t number(std::int32_t step, std::int32_t column) const {
        const Window& window = windows_[static_cast<std::size_t>(step)];
        return window.first_task + static_cast<std::size_t>(column - window.begin);
    }

  private:
    /// Columns [begin, end) of a step have tasks.
    struct Window {
        std::int32_t begin;
        std::int32_t end;
        std::size_t first_task;
    };

    Window window(Pattern pattern, int step) const;
    void add_task(Pattern pattern, int step, int column);

    int width_;
    int steps_;
    std::vector<Window> windows_;
    std::vector<GridTask> tasks_;
    std::vector<std::int32_t> inputs_;
};

}  // namespace bench
