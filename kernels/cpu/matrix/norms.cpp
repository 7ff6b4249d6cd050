#include <algorithm>
#include <cmath>

#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/matrix.hpp"
#include "tiles/norms.hpp"

namespace basalt::on_stream {

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
void run_on_cpu(MaxNorm<T>, const TileGrid& grid, TileDeal deal, TileColumns<const T> a, double* result) {
    basalt::MaxNorm norm;
    for (Index l = 0; l < a.columns; ++l) norm.accumulate(true_column(grid, deal, a, l));
    *result = norm.value();
}

template <class T>
void run_on_cpu(AbsoluteColumnSums<T>, const TileGrid& grid, TileDeal deal, TileColumns<const T> a, double* sums,
                double*) {
    std::fill_n(sums, a.columns * a.width, 0.0);
    for (Index l = 0; l < a.columns; ++l, sums += a.width) {
        const View<const T> column = true_column(grid, deal, a, l);
        for (Index i = 0; i < column.rows(); ++i) {
            for (Index c = 0; c < column.cols(); ++c) sums[c] += magnitude(column(i, c));
        }
    }
}

template <class T>
void run_on_cpu(AbsoluteRowSums<T>, const TileGrid& grid, TileDeal deal, TileColumns<const T> a, double* sums) {
    std::fill_n(sums, grid.rows(), 0.0);
    for (Index l = 0; l < a.columns; ++l) {
        const View<const T> column = true_column(grid, deal, a, l);
        for (Index i = 0; i < column.rows(); ++i) {
            for (Index c = 0; c < column.cols(); ++c) sums[i] += magnitude(column(i, c));
        }
    }
}

template <class T>
void run_on_cpu(SquareSums<T>, const TileGrid& grid, TileDeal deal, TileColumns<const T> a, blue::Sums* sums, double*) {
    FrobeniusNorm norm;
    for (Index l = 0; l < a.columns; ++l) norm.accumulate(true_column(grid, deal, a, l));
    *sums = norm.sums();
}

void run_on_cpu(Largest, const double* values, Index count, double* result) {
    double found = 0;
    for (Index i = 0; i < count; ++i) found = max_or_nan(found, values[i]);
    *result = found;
}

template <>
const MaxNorm<float>::Cpu Code<MaxNorm<float>>::cpu = cpu_code<MaxNorm<float>>;
template <>
const MaxNorm<double>::Cpu Code<MaxNorm<double>>::cpu = cpu_code<MaxNorm<double>>;
template <>
const AbsoluteColumnSums<float>::Cpu Code<AbsoluteColumnSums<float>>::cpu = cpu_code<AbsoluteColumnSums<float>>;
template <>
const AbsoluteColumnSums<double>::Cpu Code<AbsoluteColumnSums<double>>::cpu = cpu_code<AbsoluteColumnSums<double>>;
template <>
const AbsoluteRowSums<float>::Cpu Code<AbsoluteRowSums<float>>::cpu = cpu_code<AbsoluteRowSums<float>>;
template <>
const AbsoluteRowSums<double>::Cpu Code<AbsoluteRowSums<double>>::cpu = cpu_code<AbsoluteRowSums<double>>;
template <>
const SquareSums<float>::Cpu Code<SquareSums<float>>::cpu = cpu_code<SquareSums<float>>;
template <>
const SquareSums<double>::Cpu Code<SquareSums<double>>::cpu = cpu_code<SquareSums<double>>;
template <>
const Largest::Cpu Code<Largest>::cpu = cpu_code<Largest>;

}  // namespace basalt::on_stream
