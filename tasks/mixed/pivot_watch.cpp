#include "tasks/mixed/pivot_watch.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "basalt/error.hpp"
#include "kernels/on_stream/matrix.hpp"

namespace basalt::detail {

namespace {

constexpr int before_all = 1 << 20;  // priority: the sooner it is known, the more is saved

/// Rounding errors of elements near 1 add up to 10 to 20 units of roundoff in the first steps: what is no larger than
/// this many has hardly a correct bit.
constexpr double units_of_noise = 32;

constexpr Index least_run = 32;  // pivots one after the other that are no larger

View<const float> diagonal_of(View<const float> square) {
    return View<const float>::row_major(square.data(), square.cols(), 1, square.row_stride() + 1);
}

}  // namespace

PivotWatch::PivotWatch(Graph& graph, const MatrixStorage& a, ProductPrecision products, ColumnsAt where)
    : graph_(graph),
      a_(a),
      noise_(units_of_noise * roundoff_of(products)),
      on_gpus_(where == ColumnsAt::gpus),
      pivots_(graph.runtime(), on_gpus_ ? a.grid().rows() : 1, "pivots"),
      found_(graph.runtime(), count, "found in pivots") {
    std::fill_n(found_.host_overwrite().data(), Index{count}, 0.0);
}

void PivotWatch::look(const Panel& panel) {
    const Index n = a_.grid().rows();
    if (panel.first > n / 2 + least_run) return;
    const TaskHandle before = std::exchange(latest_[0], std::exchange(latest_[1], submit_look(panel)));
    if (!on_gpus_ || graph_.cancelled()) return;
    try {
        before.wait();
    } catch (const Error&) {
        // the graph's wait() throws it
    }
}

TaskHandle PivotWatch::submit_look(const Panel& panel) {
    const Index first = panel.first, end = panel.end();
    const auto square = a_.region<float>(panel.tile_column, first, end, panel.col_begin, panel.col_end());
    TaskOptions options{.name = "look at pivots", .priority = before_all, .tile = {static_cast<int>(first)}};
    if (!on_gpus_) {
        options.place = Place::cpu();
        return graph_.submit(
            options, read(square), readwrite(found_),
            [this, end](View<const float> a, View<double> found) { check(diagonal_of(a), found, end); });
    }
    options.place = a_.place_of(panel.tile_column);
    graph_.submit(options, read(square), write(pivots_.rows(first, end)),
                  on_any_device([](Stream stream, View<const float> a, View<float> to) {
                      on_stream::copy_elements<float>(stream, diagonal_of(a),
                                                      View<float>::row_major(to.data(), to.rows(), 1, 1));
                  }));
    options.place = Place::cpu();
    return graph_.submit(options, read(pivots_.rows(first, end)), readwrite(found_),
                         [this, end](View<const float> pivots, View<double> found) { check(pivots, found, end); });
}

/// Found pivots that are rounding errors count as a run; a NaN is one.
void PivotWatch::check(View<const float> pivots, View<double> found, Index end) const {
    const Index n = a_.grid().rows();
    for (Index i = 0; i < pivots.rows(); ++i) {
        const double pivot = std::abs(static_cast<double>(pivots[i]));
        found[largest] = std::max(found[largest], pivot);
        found[run] = pivot > noise_ * found[largest] ? 0 : found[run] + 1;
        const auto length = static_cast<Index>(found[run]);
        const Index left = n - (end - pivots.rows() + i + 1) + length;  // columns from the run on
        if (length >= least_run && left >= n / 2) return graph_.cancel();
    }
}

}  // namespace basalt::detail
