#include "io/models/run_samples.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>

namespace basalt {

namespace {

constexpr double buckets_per_octave = 16;
// How far a measured order is valid, as a factor, and how far apart two orders with a power law between them may be.
constexpr double most_extrapolation = 1.25;
constexpr double most_interpolation = 4;

/// For an even number of values, the lower one of the middle two: disturbances make runs slower, never faster.
double low_median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// The median run of a bucket.
struct Point {
    double order;
    double seconds_per_work;  // seconds / x^3
    int runs;

    explicit Point(const RunSamples::Bucket& bucket) : runs(static_cast<int>(bucket.size())) {
        std::vector<double> orders, times;
        for (const RunSamples::Run& run : bucket) {
            orders.push_back(run.order);
            times.push_back(run.seconds / (run.order * run.order * run.order));
        }
        order = low_median(orders);
        seconds_per_work = low_median(times);
    }
};

double ratio(double a, double b) { return std::max(a, b) / std::min(a, b); }

}  // namespace

double RunSamples::order_of(Index m, Index n) {
    return std::cbrt(static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(std::min(m, n)));
}

void RunSamples::add(const Run& run) {
    const bool usable = std::isfinite(run.order) && std::isfinite(run.seconds) && run.order >= 1 && run.seconds > 0;
    if (!usable || run.order > 1e15)
        throw std::invalid_argument("the order or the seconds of a run are not positive and finite");
    Bucket& bucket = buckets_[static_cast<int>(std::lround(buckets_per_octave * std::log2(run.order)))];
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
        if (high.order <= most_interpolation * low.order) {
            const double part = std::log(order / low.order) / std::log(high.order / low.order);
            const double slope = std::log(high.seconds_per_work / low.seconds_per_work);
            return Estimate{work * low.seconds_per_work * std::exp(part * slope), low.runs + high.runs};
        }
    }
    const auto nearest = std::min_element(points.begin(), points.end(), [&](const Point& a, const Point& b) {
        return ratio(a.order, order) < ratio(b.order, order);
    });
    if (nearest == points.end() || ratio(nearest->order, order) > most_extrapolation) return std::nullopt;
    return Estimate{work * nearest->seconds_per_work, nearest->runs};
}

}  // namespace basalt
