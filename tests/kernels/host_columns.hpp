#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include "tiles/tile_columns.hpp"

namespace basalt_tests {

using basalt::Index;
using basalt::TileColumns;
using basalt::View;

inline std::size_t at(Index i) { return static_cast<std::size_t>(i); }

template <class T>
std::vector<T> random_values(Index count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<T> values(static_cast<std::size_t>(count));
    for (T& x : values) x = static_cast<T>(static_cast<double>(random()) * 0x1p-32 - 0.5);
    return values;
}

/// Tile columns in host memory of their own, random, with room between rows and between columns that nothing
/// may touch.
template <class T>
struct HostColumns {
    HostColumns(Index columns, Index rows, Index width, unsigned seed, Index row_gap = 3, Index column_gap = 5)
        : shape{nullptr, columns, rows * (width + row_gap) + column_gap, rows, width, width + row_gap},
          values(random_values<T>(columns * shape.stride + 1, seed)) {}

    TileColumns<T> columns() { return on(values.data()); }

    /// The same shape somewhere else.
    template <class U>
    TileColumns<U> on(U* data) const {
        return {data, shape.columns, shape.stride, shape.rows, shape.width, shape.ld};
    }
    View<T> column(Index l) { return columns().column(l); }

    TileColumns<T> shape;
    std::vector<T> values;
};

/// The largest difference of two arrays, NaN where either holds one.
template <class T>
double distance(const std::vector<T>& a, const std::vector<T>& b) {
    double largest = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
        if (std::isnan(difference)) return difference;
        largest = std::max(largest, difference);
    }
    return largest;
}

/// What rounding may add up to in sums of that many products of numbers below 1.
template <class T>
double tolerance(Index terms) {
    return static_cast<double>(std::numeric_limits<T>::epsilon()) * static_cast<double>(terms + 4);
}

}  // namespace basalt_tests
