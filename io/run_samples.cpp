#include "io/run_samples.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>

namespace basalt {

namespace {

constexpr double buckets_an_octave = 16;
constexpr double believed_beyond = 1.25;  // of a measured order
constexpr double believed_between = 4;    // two of them

/// Of an odd number; of an even one the lower of the middle two: what disturbs a run makes it slower.
double low_median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// What a bucket stands for.
struct Point {
    double order;
    double seconds_a_work;  // of x^3
    int runs;

    explicit Point(const RunSamples::Bucket& bucket) : runs(static_cast<int>(bucket.size())) {
        std::vector<double> orders, times;
        for (const RunSamples::Run& run : bucket) {
            orders.push_back(run.order);
            times.push_back(run.seconds / (run.order * run.order * run.order));
        }
        order = low_median(orders);
        seconds_a_work = low_median(times);
    }
};

double ratio(double a, double b) { return std::max(a, b) / std::min(a, b); }

}  // namespace

double RunSamples::order_of(Index m, Index n) {
    return std::cbrt(static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(std::min(m, n)));
}

void RunSamples::add(const Run& run) {
    const bool usable = std::isfinite(run.order) && std::isfinite(run.seconds) && run.order >= 1 && run.seconds > 0;
    if (!usable || run.order > 1e15) throw std::invalid_argument("a run's order and seconds are not above zero");
    Bucket& bucket = buckets_[static_cast<int>(std::lround(buckets_an_octave * std::log2(run.order)))];
    bucket.push_back(run);
    if (bucket.size() > most_runs) bucket.erase(bucket.begin());
}

std::optional<RunSamples::Estimate> RunSamples::at(double order) const {
    if (!(order >= 1)) return std::nullopt;
    const double work = order * order * order;
    std::vector<Point> points;
    for (const auto& [number, bucket] : buckets_) points.emplace_back(bucket);
    const auto above = std::find_if(points.begin(), points.end(), [&](const Point& p) { return p.order >= order; });
    if (above != points.begin() && above != points.end()) {
        const Point &low = *std::prev(above), &high = *above;
        if (high.order <= believed_between * low.order) {
            const double part = std::log(order / low.order) / std::log(high.order / low.order);
            const double slope = std::log(high.seconds_a_work / low.seconds_a_work);
            return Estimate{work * low.seconds_a_work * std::exp(part * slope), low.runs + high.runs};
        }
    }
    const auto nearest = std::min_element(points.begin(), points.end(), [&](const Point& a, const Point& b) {
        return ratio(a.order, order) < ratio(b.order, order);
    });
    if (nearest == points.end() || ratio(nearest->order, order) > believed_beyond) return std::nullopt;
    return Estimate{work * nearest->seconds_a_work, nearest->runs};
}

}  // namespace basalt
