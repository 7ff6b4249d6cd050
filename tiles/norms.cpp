#include "tiles/norms.hpp"
#include "tiles/transposed.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <basalt/error.hpp>

namespace basalt {

namespace {

// Independent partial results, so that a sum or maximum is not one long chain of dependent operations.
constexpr int lanes = 8;

template <class T>
double magnitude(T value) {
    return std::abs(static_cast<double>(value));
}

/// sum |x_i| of `count` contiguous elements.
template <class T>
double absolute_sum(const T* x, Index count) {
    double partial[lanes] = {};
    Index i = 0;
    for (; i + lanes <= count; i += lanes) {
        for (int lane = 0; lane < lanes; ++lane) partial[lane] += magnitude(x[i + lane]);
    }
    for (; i < count; ++i) partial[0] += magnitude(x[i]);
    double sum = 0;
    for (const double value : partial) sum += value;
    return sum;
}

/// sums[j] += sum_i |block(i, j)|.
template <class T>
void add_column_sums(View<const T> block, double* sums) {
    if (block.row_stride() == 1) {
        for (Index j = 0; j < block.cols(); ++j) sums[j] += absolute_sum(&block(0, j), block.rows());
        return;
    }
    for (Index i = 0; i < block.rows(); ++i) {
        for (Index j = 0; j < block.cols(); ++j) sums[j] += magnitude(block(i, j));
    }
}

void check_range(const char* what, Index first, Index count, Index covered_first, std::size_t covered) {
    if (first < covered_first || first + count > covered_first + static_cast<Index>(covered)) {
        throw UsageError(std::string("norm: ") + what + " [" + std::to_string(first) + ", " +
                         std::to_string(first + count) + ") are not among the accumulator's, which starts at " +
                         std::to_string(covered_first) + " and covers " + std::to_string(covered));
    }
}

void merge_sums(const char* what, std::vector<double>& sums, Index first, const std::vector<double>& others,
                Index other_first) {
    if (sums.size() != others.size() || first != other_first) {
        throw UsageError(std::string("norm: cannot merge accumulators of different ") + what);
    }
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += others[k];
}

double largest(const std::vector<double>& values) {
    double result = 0;
    for (const double value : values) result = max_or_nan(value, result);
    return result;
}

/// Calls visit(x, count, stride) for each line of the block along its shorter stride.
template <class T, class Visit>
void for_each_line(View<const T> block, Visit visit) {
    const View<const T> lines = block.row_stride() <= block.col_stride() ? block : transposed(block);
    if (lines.empty()) return;
    for (Index j = 0; j < lines.cols(); ++j) visit(&lines(0, j), lines.rows(), lines.row_stride());
}

}  // namespace

template <class T>
void MaxNorm::accumulate(View<const T> block, Index, Index) {
    for_each_line(block, [this](const T* x, Index count, Index stride) {
        double partial[lanes] = {};
        Index i = 0;
        for (; i + lanes <= count; i += lanes) {
            for (int lane = 0; lane < lanes; ++lane) {
                partial[lane] = max_or_nan(partial[lane], magnitude(x[(i + lane) * stride]));
            }
        }
        for (; i < count; ++i) partial[0] = max_or_nan(partial[0], magnitude(x[i * stride]));
        for (const double value : partial) value_ = max_or_nan(value_, value);
    });
}

OneNorm::OneNorm(Index cols, Index first_col)
    : first_col_(first_col), sums_(static_cast<std::size_t>(std::max<Index>(cols, 0))) {}

template <class T>
void OneNorm::accumulate(View<const T> block, Index, Index col0) {
    check_range("columns", col0, block.cols(), first_col_, sums_.size());
    if (!block.empty()) add_column_sums(block, sums_.data() + (col0 - first_col_));
}

void OneNorm::merge(const OneNorm& other) { merge_sums("columns", sums_, first_col_, other.sums_, other.first_col_); }

double OneNorm::value() const { return largest(sums_); }

InfinityNorm::InfinityNorm(Index rows, Index first_row)
    : first_row_(first_row), sums_(static_cast<std::size_t>(std::max<Index>(rows, 0))) {}

template <class T>
void InfinityNorm::accumulate(View<const T> block, Index row0, Index) {
    check_range("rows", row0, block.rows(), first_row_, sums_.size());
    if (!block.empty()) add_column_sums(transposed(block), sums_.data() + (row0 - first_row_));
}

void InfinityNorm::merge(const InfinityNorm& other) {
    merge_sums("rows", sums_, first_row_, other.sums_, other.first_row_);
}

double InfinityNorm::value() const { return largest(sums_); }

namespace {

double square(double x) { return x * x; }

}  // namespace

template <class T>
void FrobeniusNorm::accumulate(View<const T> block, Index, Index) {
    constexpr Index chunk = 4096;
    for_each_line(block, [this](const T* x, Index count, Index stride) {
        for (Index first = 0; first < count; first += chunk) {
            const Index end = std::min(first + chunk, count);
            double partial[lanes] = {};
            Index i = first;
            for (; i + lanes <= end; i += lanes) {
                for (int lane = 0; lane < lanes; ++lane) {
                    partial[lane] += square(static_cast<double>(x[(i + lane) * stride]));
                }
            }
            for (; i < end; ++i) partial[0] += square(static_cast<double>(x[i * stride]));
            double sum = 0;
            for (const double value : partial) sum += value;
            // No square overflowed, and the squares that underflowed are below 4096 x 2^-1022: no digit of this sum.
            if (sum > 0x1p-900 && sum < 0x1p972) {
                sums_.middle += sum;
            } else {
                for (i = first; i < end; ++i) sums_.add(magnitude(x[i * stride]));
            }
        }
    });
}

double FrobeniusNorm::value() const {
    if (sums_.big > 0) {
        // Small elements do not count next to a big one; ordinary ones may.
        return std::sqrt(sums_.big + sums_.middle * blue::big_scale * blue::big_scale) / blue::big_scale;
    }
    if (sums_.small > 0) {
        return std::hypot(std::sqrt(sums_.middle), std::sqrt(sums_.small) / blue::small_scale);
    }
    return std::sqrt(sums_.middle);
}

template void MaxNorm::accumulate(View<const float>, Index, Index);
template void MaxNorm::accumulate(View<const double>, Index, Index);
template void OneNorm::accumulate(View<const float>, Index, Index);
template void OneNorm::accumulate(View<const double>, Index, Index);
template void InfinityNorm::accumulate(View<const float>, Index, Index);
template void InfinityNorm::accumulate(View<const double>, Index, Index);
template void FrobeniusNorm::accumulate(View<const float>, Index, Index);
template void FrobeniusNorm::accumulate(View<const double>, Index, Index);

}  // namespace basalt
