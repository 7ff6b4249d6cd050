#pragma once

// Kernels against plain loops; whole arrays are compared, with their gaps and padding. `Kernels` calls the kernels of a
// GPU (cuda_kernels.hpp) or their CPU twins (cpu_twins.hpp); its Memory<T> holds their operands.

#include <array>
#include <limits>
#include <vector>

#include "kernels/on_stream.hpp"
#include "kernels/reference/laswp.hpp"
#include "kernels/reference/row_moves.hpp"
#include "tests/common/catch.hpp"
#include "tests/kernels/cases/row_exchange.hpp"
#include "tests/kernels/host_columns.hpp"

namespace basalt_tests {

using namespace basalt;

/// A factored panel with multipliers that leave U of modest size, NaN where nothing may be read, columns to its right,
/// and what becomes of these.
template <class T>
struct LeadingProblem {
    LeadingProblem(Index rows, Index order, Index cols, const std::vector<Index>& pivots)
        : l(1, rows, order, 1, 4), a(1, rows, cols, 2, 2 + cols % 2), expected(a), lists(at(2 * order)) {
        for (Index i = 0; i < rows; ++i) {
            for (Index j = 0; j < order; ++j) {
                T& x = l.column(0)(i, j);
                x = i > j ? x / 8 : std::numeric_limits<T>::quiet_NaN();
            }
        }
        reference::find_row_moves(rows, pivots.data(), moves());
        const View<T> c = expected.column(0);
        reference::laswp(c, pivots.data(), order);
        for (Index j = 0; j < cols; ++j) {
            std::vector<double> u;
            for (Index i = 0; i < rows; ++i) {
                double sum = static_cast<double>(c(i, j));
                for (Index k = 0; k < std::min(i, order); ++k) sum -= static_cast<double>(l.column(0)(i, k)) * u[at(k)];
                if (i < order) u.push_back(sum);
                c(i, j) = static_cast<T>(sum);
            }
        }
    }

    RowMoves moves() { return {lists.data(), static_cast<Index>(lists.size() / 2)}; }

    HostColumns<T> l, a, expected;
    std::vector<Index> lists;
};

template <class T, class Kernels>
void check_leading_update(Kernels& kernels, std::vector<std::array<Index, 3>> shapes) {
    for (const auto& [rows, order, cols] : shapes) {
        for (const std::vector<Index>& pivots : pivot_lists(rows, order)) {
            LeadingProblem<T> problem(rows, order, cols, pivots);
            std::vector<T> first;
            for (int run = 0; run < 2; ++run) {
                typename Kernels::template Memory<Index> lists(kernels, problem.lists);
                typename Kernels::template Memory<T> l(kernels, problem.l.values), a(kernels, problem.a.values);
                const View<const T> l_view = problem.l.on(l.data()).column(0);
                const View<T> a_view = problem.a.on(a.data()).column(0);
                INFO(rows << " rows, " << order << " of them exchanged, " << cols << " columns");
                // the twin takes all shapes
                if (Kernels::on_gpu) REQUIRE(kernels(on_stream::leading_update_fits<T>, l_view, a_view));
                kernels(on_stream::update_leading<T>, l_view, RowMoves(lists.data(), order), a_view);
                const std::vector<T> result = a.read();
                REQUIRE(distance(result, problem.expected.values) <= 16 * tolerance<T>(order));
                if (run == 0) first = result;
                REQUIRE(result == first);
            }
        }
    }
}

}  // namespace basalt_tests
