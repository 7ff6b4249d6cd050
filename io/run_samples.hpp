#pragma once

#include <map>
#include <optional>
#include <vector>

#include "basalt/view.hpp"

namespace basalt {

/// Times of runs that differ in size alone. A run of order x (what a square matrix with as many elements times columns
/// would have, so that work grows with x^3 whatever the shape) goes to a bucket of orders within 4 %.
class RunSamples {
  public:
    struct Run {
        double order;
        double seconds;
    };
    using Bucket = std::vector<Run>;  ///< oldest first

    /// Kept of a bucket: enough for a median, and few enough to follow a machine that changes.
    static constexpr std::size_t most_runs = 7;

    static double order_of(Index m, Index n);

    /// The oldest of a full bucket goes. Throws std::invalid_argument for numbers that are not finite and above zero.
    void add(const Run& run);

    struct Estimate {
        double seconds;
        int runs;
    };
    /// Between two measured orders by a power law through them, where they are at most a factor of 4 apart; within a
    /// quarter of a measured one at its rate. Otherwise empty.
    std::optional<Estimate> at(double order) const;

    const std::map<int, Bucket>& buckets() const { return buckets_; }

  private:
    std::map<int, Bucket> buckets_;  ///< by number
};

}  // namespace basalt
