#pragma once

#include <vector>

#include <basalt/view.hpp>

#include "tiles/blue.hpp"

namespace basalt {

// Norms that are gathered block by block. Each thread accumulates its blocks in an object of its own; then the objects
// are merged (in a fixed order where bits must repeat). Blocks may come in any order and shape, but each element once.
// They are views of the matrix without padding. All sums are in double, also for float matrices. NaN propagates.
// accumulate() is instantiated for float and double; (row0, col0) is the position of the block's first element in the
// matrix. An object belongs to one thread at a time.

/// The larger of the two, or NaN where either is.
inline double max_or_nan(double a, double b) { return (a > b || a != a) ? a : b; }

/// max |a_ij|; 0 for an empty matrix.
class MaxNorm {
  public:
    template <class T>
    void accumulate(View<const T> block, Index row0 = 0, Index col0 = 0);
    void merge(const MaxNorm& other) { value_ = max_or_nan(value_, other.value_); }
    double value() const { return value_; }

  private:
    double value_ = 0;
};

/// max_j sum_i |a_ij| of a matrix, or of its columns [first_col, first_col + cols).
class OneNorm {
  public:
    explicit OneNorm(Index cols, Index first_col = 0);
    template <class T>
    void accumulate(View<const T> block, Index row0, Index col0);
    /// Throws UsageError unless `other` covers the same columns.
    void merge(const OneNorm& other);
    double value() const;

  private:
    Index first_col_;
    std::vector<double> sums_;
};

/// max_i sum_j |a_ij| of a matrix, or of its rows [first_row, first_row + rows).
class InfinityNorm {
  public:
    explicit InfinityNorm(Index rows, Index first_row = 0);
    template <class T>
    void accumulate(View<const T> block, Index row0, Index col0);
    /// Throws UsageError unless `other` covers the same rows.
    void merge(const InfinityNorm& other);
    double value() const;

  private:
    Index first_row_;
    std::vector<double> sums_;
};

/// sqrt(sum |a_ij|^2) without overflow or underflow: three accumulators, for big, ordinary and small elements
/// (Blue 1978, as in LAPACK 3.10's dlassq; Anderson, ACM TOMS 44, 2017).
class FrobeniusNorm {
  public:
    FrobeniusNorm() = default;
    explicit FrobeniusNorm(const blue::Sums& sums) : sums_(sums) {}

    template <class T>
    void accumulate(View<const T> block, Index row0 = 0, Index col0 = 0);
    void merge(const FrobeniusNorm& other) { sums_.add(other.sums_); }
    double value() const;
    const blue::Sums& sums() const { return sums_; }

  private:
    blue::Sums sums_;
};

}  // namespace basalt
