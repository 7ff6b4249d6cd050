#include "tasks/mixed/pivot_watch.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/on_stream/matrix.hpp"

namespace basalt::detail {

namespace {

constexpr int before_all = 1 << 20;  // priority: the sooner it is known, the more is saved

/// Rounding errors of elements near 1 add up to 10 to 20 units of roundoff in the first steps: what is no larger than
/// this many has hardly a correct bit.
constexpr double units_of_noise = 32;

View<const float> diagonal_of(View<const float> square) {
    return View<const float>::row_major(square.data(), square.cols(), 1, square.row_stride() + 1);
}

}  // namespace

PivotWatch::PivotWatch(Graph& graph, const MatrixStorage& a, ProductPrecision products, bool on_gpus)
    : graph_(graph),
      a_(a),
      noise_(units_of_noise * roundoff_of(products)),
      on_gpus_(on_gpus),
      pivots_(graph.runtime(), on_gpus ? a.grid().rows() : 1, "pivots"),
      found_(graph.runtime(), count, "found in pivots") {
    std::fill_n(found_.host_overwrite().data(), Index{count}, 0.0);
}

void PivotWatch::look(const Panel& panel) {
    const Index first = panel.first, end = panel.end();
    const auto square = a_.region<float>(panel.tile_column, first, end, panel.col_begin, panel.col_end());
    TaskOptions options{.name = "look at pivots", .priority = before_all, .tile = {static_cast<int>(first)}};
    if (!on_gpus_) {
        options.place = Place::cpu();
        graph_.submit(options, read(square), readwrite(found_),
                      [this, end](View<const float> a, View<double> found) { check(diagonal_of(a), found, end); });
        return;
    }
    options.place = a_.place_of(panel.tile_column);
    graph_.submit(options, read(square), write(pivots_.rows(first, end)),
                  on_any_device([](Stream stream, View<const float> a, View<float> to) {
                      on_stream::copy_elements<float>(stream, diagonal_of(a),
                                                      View<float>::row_major(to.data(), to.rows(), 1, 1));
                  }));
    options.place = Place::cpu();
    graph_.submit(options, read(pivots_.rows(first, end)), readwrite(found_),
                  [this, end](View<const float> pivots, View<double> found) { check(pivots, found, end); });
}

/// Found pivots that are rounding errors count as a run; a NaN is one.
void PivotWatch::check(View<const float> pivots, View<double> found, Index end) const {
    constexpr double least_run = 32;
    constexpr double least_part = 0.25;  // of the matrix: its columns from the run on
    const auto n = static_cast<double>(a_.grid().rows());
    for (Index i = 0; i < pivots.rows(); ++i) {
        const double pivot = std::abs(static_cast<double>(pivots[i]));
        found[largest] = std::max(found[largest], pivot);
        found[run] = pivot > noise_ * found[largest] ? 0 : found[run] + 1;
        const double left = n - static_cast<double>(end - pivots.rows() + i + 1) + found[run];
        if (found[run] >= least_run && left >= least_part * n) return graph_.cancel();
    }
}

}  // namespace basalt::detail
