#pragma once

// Kernels against plain loops; whole arrays are compared, with their gaps and padding. `Kernels` calls the kernels of a
// GPU (cuda_kernels.hpp) or their CPU twins (cpu_twins.hpp); its Memory<T> holds their operands.

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "kernels/on_stream.hpp"
#include "kernels/reference/row_moves.hpp"
#include "tests/common/catch.hpp"
#include "tests/kernels/host_columns.hpp"

namespace basalt_tests {

using namespace basalt;

/// Pivot lists of a panel of `rows` rows: random, and the ones with the longest chains.
inline std::vector<std::vector<Index>> pivot_lists(Index rows, Index count) {
    std::mt19937 random(static_cast<unsigned>(7 * rows + count));
    std::vector<std::vector<Index>> lists(6, std::vector<Index>(at(count)));
    for (Index k = 0; k < count; ++k) {
        lists[0][at(k)] = k + static_cast<Index>(random()) % (rows - k);
        lists[1][at(k)] = k;
        lists[2][at(k)] = rows - 1;
        lists[3][at(k)] = std::min(k + 1, rows - 1);
        lists[4][at(k)] = std::max(k, rows - 1 - k);
        lists[5][at(k)] = k + static_cast<Index>(random()) % std::min<Index>(rows - k, 3);
    }
    return lists;
}

template <class Kernels>
void check_row_moves(Kernels& kernels, std::vector<std::array<Index, 2>> panels) {
    for (const auto& [rows, count] : panels) {
        for (const std::vector<Index>& pivots : pivot_lists(rows, count)) {
            std::vector<Index> expected(at(2 * count));
            reference::find_row_moves(rows, pivots.data(), {expected.data(), count});
            typename Kernels::template Memory<Index> device_pivots(kernels, pivots),
                moves(kernels, std::vector<Index>(at(2 * count), -7));
            kernels(on_stream::find_row_moves, device_pivots.data(), RowMoves(moves.data(), count));
            INFO(rows << " x " << count);
            REQUIRE(moves.read() == expected);
        }
    }
}

template <class T, class Kernels>
void check_row_exchange(Kernels& kernels) {
    for (const auto& [rows, count] :
         {std::array<Index, 2>{0, 0}, {1, 1}, {3, 3}, {40, 0}, {40, 17}, {97, 33}, {300, 40}}) {
        for (const std::vector<Index>& pivots : pivot_lists(rows, count)) {
            for (const auto& [columns, width, gap] :
                 {std::array<Index, 3>{1, 1, 3}, {3, 7, 1}, {2, 64, 0}, {0, 4, 0}, {2, 0, 2}, {1, 1100, 4}}) {
                HostColumns<T> a(columns, rows, width, 1, gap), w(columns, count, width, 2, gap);
                std::vector<Index> lists(at(2 * count));
                reference::find_row_moves(rows, pivots.data(), {lists.data(), count});
                typename Kernels::template Memory<Index> moves(kernels, lists);
                typename Kernels::template Memory<T> device_a(kernels, a.values), device_w(kernels, w.values);
                kernels(on_stream::exchange_rows<T>, RowMoves(moves.data(), count), a.on(device_a.data()),
                        w.on(device_w.data()));

                std::vector<T> result = device_a.read();
                for (Index l = 0; l < columns; ++l) {
                    const View<T> column = a.column(l), dead = a.on(result.data()).column(l);
                    reference::laswp(column, pivots.data(), count);
                    for (Index k = 0; k < count; ++k) {
                        for (Index c = 0; c < width; ++c) {
                            w.column(l)(k, c) = column(k, c);
                            dead(k, c) = column(k, c);
                        }
                    }
                }
                INFO(rows << " rows, " << count << " exchanged, " << columns << " columns of " << width);
                REQUIRE(device_w.read() == w.values);
                REQUIRE(result == a.values);
            }
        }
    }
}

}  // namespace basalt_tests
