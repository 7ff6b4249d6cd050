#include "runtime/placement/task_models.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <mutex>

namespace basalt::detail {

namespace {

constexpr double buckets_per_octave = 8;
constexpr double most_extrapolation = 1.25;
constexpr double most_interpolation = 4;
// What a clock without resolution would show as nothing.
constexpr double least_seconds = 1e-9;

int bucket_of(std::uint64_t size) {
    return static_cast<int>(
        std::lround(buckets_per_octave * std::log2(static_cast<double>(std::max<std::uint64_t>(size, 1)))));
}

}  // namespace

/// The lower one of the middle two: disturbances make runs slower, never faster.
double LearntTimes::median() const {
    const std::size_t count = std::min(kept_, most);
    std::array<double, most> sorted = ring_;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((count - 1) / 2);
    std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(count));
    return *middle;
}

void LearntTimes::keep(double seconds) {
    ring_[kept_++ % most] = std::max(seconds, least_seconds);
    median_.store(median(), std::memory_order_relaxed);
}

void LearntTimes::add(double seconds) {
    const std::lock_guard guard(lock_);
    if (kept_ == 0 && !first_) {
        first_ = std::max(seconds, least_seconds);
        median_.store(*first_, std::memory_order_relaxed);
    } else {
        keep(seconds);
    }
}

void LearntTimes::restore(const std::vector<double>& seconds) {
    const std::lock_guard guard(lock_);
    for (const double time : seconds) keep(time);
}

std::vector<double> LearntTimes::kept() const {
    const std::lock_guard guard(lock_);
    std::vector<double> times;
    for (std::size_t i = kept_ - std::min(kept_, most); i < kept_; ++i) times.push_back(ring_[i % most]);
    if (times.empty() && first_) times.push_back(*first_);
    return times;
}

TaskModels::Found TaskModels::find(std::string_view name, std::uint64_t size) {
    auto named = names_.find(name);
    if (named == names_.end()) named = names_.emplace(name, Sizes{}).first;
    Sizes& sizes = named->second;
    std::unique_ptr<TaskModel>& model = sizes[bucket_of(size)];
    if (!model) model = std::make_unique<TaskModel>(size, kinds_.size());
    return {*model, sizes};
}

std::optional<double> TaskModels::seconds(const Found& found, std::uint64_t size, std::size_t kind) {
    if (const double own = found.model.kinds[kind].seconds(); own > 0) return own;
    struct Point {
        double size = 0, seconds = 0;
    } below, above;
    const auto wanted = static_cast<double>(std::max<std::uint64_t>(size, 1));
    for (const auto& [bucket, model] : found.sizes) {
        const double seconds = model->kinds[kind].seconds();
        if (seconds == 0) continue;
        const Point point{static_cast<double>(std::max<std::uint64_t>(model->size, 1)), seconds};
        if (point.size > wanted) {
            above = point;
            break;
        }
        below = point;
    }
    if (below.size > 0 && above.size > 0 && above.size <= most_interpolation * below.size) {
        const double part = std::log(wanted / below.size) / std::log(above.size / below.size);
        return below.seconds * std::exp(part * std::log(above.seconds / below.seconds));
    }
    if (below.size > 0 && wanted <= most_extrapolation * below.size) return below.seconds * wanted / below.size;
    if (above.size > 0 && above.size <= most_extrapolation * wanted) return above.seconds * wanted / above.size;
    return std::nullopt;
}

void TaskModels::restore(const std::vector<TaskRuns>& runs) {
    for (const TaskRuns& run : runs) {
        const auto kind = std::find(kinds_.begin(), kinds_.end(), run.processor);
        if (kind == kinds_.end()) continue;
        TaskModel& model = find(run.task, run.size).model;
        model.kinds[static_cast<std::size_t>(kind - kinds_.begin())].restore(run.seconds);
    }
}

std::vector<TaskRuns> TaskModels::runs() const {
    std::vector<TaskRuns> all;
    for (const auto& [name, sizes] : names_) {
        for (const auto& [bucket, model] : sizes) {
            for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
                std::vector<double> kept = model->kinds[kind].kept();
                if (!kept.empty()) all.push_back({name, model->size, kinds_[kind], std::move(kept)});
            }
        }
    }
    return all;
}

}  // namespace basalt::detail
