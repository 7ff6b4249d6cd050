#pragma once

#include <map>
#include <optional>
#include <vector>

#include "basalt/view.hpp"

namespace basalt {

/// Times of runs that differ only in size. The order x of a run is defined by its work: x^3 = m n min(m, n), so that a
/// square matrix has its own order. Runs whose orders are within 4 % of each other share a bucket.
class RunSamples {
  public:
    struct Run {
        double order;
        double seconds;
    };
    using Bucket = std::vector<Run>;  ///< oldest first

    /// A bucket keeps this many: enough for a median, and few enough to follow a machine that changes.
    static constexpr std::size_t most_runs = 7;

    static double order_of(Index m, Index n);

    /// A full bucket drops its oldest run. Throws std::invalid_argument for numbers that are not positive and finite.
    void add(const Run& run);

    struct Estimate {
        double seconds;
        int runs;
    };
    /// Between two measured orders that are at most a factor of 4 apart: a power law through both. Within a quarter of
    /// a measured order: its rate. Otherwise empty.
    std::optional<Estimate> at(double order) const;

    const std::map<int, Bucket>& buckets() const { return buckets_; }

  private:
    std::map<int, Bucket> buckets_;  ///< by number
};

}  // namespace basalt
