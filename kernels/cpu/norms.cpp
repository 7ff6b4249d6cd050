#include "kernels/cpu/norms.hpp"

#include <algorithm>
#include <cmath>

#include "tiles/norms.hpp"

namespace basalt::cpu_kernels {

namespace {

/// The true elements of the l-th tile column.
template <class T>
View<const T> true_column(const TileGrid& grid, TileDeal deal, const TileColumns<const T>& a, Index l) {
    return a.column(l).block(0, 0, grid.rows(), dealt_width(grid, deal, l));
}

template <class T>
double magnitude(T value) {
    return std::abs(static_cast<double>(value));
}

}  // namespace

template <class T>
void max_norm(const TileGrid& grid, TileDeal deal, TileColumns<const T> a, double* result) {
    MaxNorm norm;
    for (Index l = 0; l < a.columns; ++l) norm.accumulate(true_column(grid, deal, a, l));
    *result = norm.value();
}

template <class T>
void absolute_column_sums(const TileGrid& grid, TileDeal deal, TileColumns<const T> a, double* sums, double*) {
    std::fill_n(sums, a.columns * a.width, 0.0);
    for (Index l = 0; l < a.columns; ++l, sums += a.width) {
        const View<const T> column = true_column(grid, deal, a, l);
        for (Index i = 0; i < column.rows(); ++i) {
            for (Index c = 0; c < column.cols(); ++c) sums[c] += magnitude(column(i, c));
        }
    }
}

template <class T>
void absolute_row_sums(const TileGrid& grid, TileDeal deal, TileColumns<const T> a, double* sums) {
    std::fill_n(sums, grid.rows(), 0.0);
    for (Index l = 0; l < a.columns; ++l) {
        const View<const T> column = true_column(grid, deal, a, l);
        for (Index i = 0; i < column.rows(); ++i) {
            for (Index c = 0; c < column.cols(); ++c) sums[i] += magnitude(column(i, c));
        }
    }
}

template <class T>
void square_sums(const TileGrid& grid, TileDeal deal, TileColumns<const T> a, blue::Sums* sums, double*) {
    FrobeniusNorm norm;
    for (Index l = 0; l < a.columns; ++l) norm.accumulate(true_column(grid, deal, a, l));
    *sums = norm.sums();
}

void largest(const double* values, Index count, double* result) {
    double found = 0;
    for (Index i = 0; i < count; ++i) found = max_or_nan(found, values[i]);
    *result = found;
}

template void max_norm<float>(const TileGrid&, TileDeal, TileColumns<const float>, double*);
template void max_norm<double>(const TileGrid&, TileDeal, TileColumns<const double>, double*);
template void absolute_column_sums<float>(const TileGrid&, TileDeal, TileColumns<const float>, double*, double*);
template void absolute_column_sums<double>(const TileGrid&, TileDeal, TileColumns<const double>, double*, double*);
template void absolute_row_sums<float>(const TileGrid&, TileDeal, TileColumns<const float>, double*);
template void absolute_row_sums<double>(const TileGrid&, TileDeal, TileColumns<const double>, double*);
template void square_sums<float>(const TileGrid&, TileDeal, TileColumns<const float>, blue::Sums*, double*);
template void square_sums<double>(const TileGrid&, TileDeal, TileColumns<const double>, blue::Sums*, double*);

}  // namespace basalt::cpu_kernels
