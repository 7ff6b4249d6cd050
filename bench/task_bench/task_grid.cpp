#include "bench/task_bench/task_grid.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>

namespace bench {

namespace {

constexpr int radix = 5;   // columns that nearest and spread read; the experiments of the paper have this number
constexpr int period = 3;  // steps after which spread and random_nearest repeat; Task Bench's default

/// A number in [0, 1) that depends on its arguments alone. Task Bench has SipHash: the graphs differ, their density
/// not.
double uniform(std::uint64_t set, std::uint64_t from, std::uint64_t to) {
    std::uint64_t x = (set << 40) + (from << 20) + to + 0x9e3779b97f4a7c15;  // splitmix64
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

/// Columns that a task reads, perhaps some that do not exist or are named twice.
std::vector<int> candidates(Pattern pattern, int width, int step, int column) {
    std::vector<int> found;
    const auto add_range = [&](int first, int last) {
        for (int i = first; i <= last; ++i) found.push_back(i);
    };
    switch (pattern) {
        case Pattern::trivial: break;
        case Pattern::no_comm: found = {column}; break;
        case Pattern::stencil_1d: add_range(column - 1, column + 1); break;
        case Pattern::dom: add_range(column - 1, column); break;
        case Pattern::tree: found = {column / 2}; break;
        case Pattern::fft: {
            const int levels = std::max(1, static_cast<int>(std::bit_width(static_cast<unsigned>(width - 1))));
            const int distance = 1 << ((step + levels - 1) % levels);
            found = {column - distance, column, column + distance};
            break;
        }
        case Pattern::nearest: add_range(column - radix / 2, column + (radix - 1) / 2); break;
        case Pattern::random_nearest:
            for (int i = column - radix / 2; i <= column + (radix - 1) / 2; ++i) {
                if (i == column ||
                    uniform(static_cast<std::uint64_t>(step % period), static_cast<std::uint64_t>(i + radix),
                            static_cast<std::uint64_t>(column)) < 0.25) {
                    found.push_back(i);
                }
            }
            break;
        case Pattern::spread:
            for (int i = 0; i < radix; ++i) {
                found.push_back((column + i * width / radix + (i > 0 ? step % period : 0)) % width);
            }
            break;
        case Pattern::all_to_all: add_range(0, width - 1); break;
    }
    return found;
}

}  // namespace

const std::vector<std::string>& pattern_names() {
    static const std::vector<std::string> names{"trivial", "no_comm", "stencil_1d",     "fft",       "tree", "dom",
                                                "nearest", "spread",  "random_nearest", "all_to_all"};
    return names;  // in the order of Pattern
}

Pattern pattern_of(std::string_view name) {
    const auto found = std::find(pattern_names().begin(), pattern_names().end(), name);
    if (found == pattern_names().end()) throw std::invalid_argument("no pattern is called '" + std::string(name) + "'");
    return static_cast<Pattern>(found - pattern_names().begin());
}

TaskGrid::TaskGrid(Pattern pattern, int width, int steps) : width_(width), steps_(steps) {
    for (int step = 0; step < steps; ++step) {
        windows_.push_back(window(pattern, step));
        for (int column = windows_.back().begin; column < windows_.back().end; ++column)
            add_task(pattern, step, column);
    }
}

TaskGrid::Window TaskGrid::window(Pattern pattern, int step) const {
    int begin = 0;
    int size = width_;
    if (pattern == Pattern::dom) {
        begin = std::max(0, step + width_ - steps_);
        size = std::min({width_, step + 1, steps_ - step});
    } else if (pattern == Pattern::tree) {
        size = std::min(width_, step < std::numeric_limits<int>::digits ? 1 << step : width_);
    }
    return {begin, begin + size, tasks_.size()};
}

void TaskGrid::add_task(Pattern pattern, int step, int column) {
    GridTask task{step, column, static_cast<std::uint32_t>(inputs_.size()), 0};
    if (step > 0) {
        const Window& before = windows_[static_cast<std::size_t>(step - 1)];
        std::vector<int> columns = candidates(pattern, width_, step, column);
        std::sort(columns.begin(), columns.end());
        columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
        for (const int input : columns) {
            if (before.begin <= input && input < before.end) inputs_.push_back(input);
        }
        task.inputs = static_cast<std::uint32_t>(inputs_.size()) - task.first_input;
    }
    tasks_.push_back(task);
}

}  // namespace bench
