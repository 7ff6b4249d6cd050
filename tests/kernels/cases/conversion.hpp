#pragma once

// Kernels against plain loops; whole arrays are compared, with their gaps and padding. `Kernels` calls the kernels of a
// GPU (cuda_kernels.hpp) or their CPU twins (cpu_twins.hpp); its Memory<T> holds their operands.

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/on_stream.hpp"
#include "kernels/reference/tile_columns.hpp"
#include "tests/common/catch.hpp"
#include "tests/kernels/cases/dealt.hpp"
#include "tests/kernels/host_columns.hpp"
#include "tiles/tile_columns.hpp"

namespace basalt_tests {

using namespace basalt;

template <class T, class Kernels>
void check_copies(Kernels& kernels, const std::vector<std::array<Index, 3>>& shapes) {
    for (const auto& [columns, rows, width] : shapes) {
        HostColumns<T> from(columns, rows, width, 1, 2), to(columns, rows, width, 2, 5);
        typename Kernels::template Memory<T> source(kernels, from.values), target(kernels, to.values);
        kernels(on_stream::copy_tile_columns<T>, from.on(source.data()), to.on(target.data()));
        for (Index l = 0; l < columns; ++l) {
            for (Index i = 0; i < rows; ++i) {
                for (Index c = 0; c < width; ++c) to.column(l)(i, c) = from.column(l)(i, c);
            }
        }
        INFO(columns << " columns of " << rows << " x " << width);
        REQUIRE(target.read() == to.values);

        typename Kernels::template Memory<T> again(kernels, HostColumns<T>(columns, rows, width, 2, 5).values);
        for (Index l = 0; l < columns; ++l) {
            kernels(on_stream::copy_elements<T>, View<const T>(from.on(source.data()).column(l)),
                    to.on(again.data()).column(l));
        }
        REQUIRE(again.read() == to.values);
    }
}

template <class T, class Kernels>
void check_conversion(Kernels& kernels, const std::vector<Dealt>& matrices) {
    for (const Dealt& dealt : matrices) {
        const auto& [grid, deal] = dealt;
        const Index columns = dealt.columns(), cols = dealt_cols(grid, deal, columns), ld = grid.rows() + 3;
        const Index width = grid.shape().width, stored = columns * grid.tile_column_size();
        const std::vector<T> array = random_values<T>(ld * cols + 2, 1);
        std::vector<T> expected(at(stored));
        const auto source = View<const T>::column_major(array.data(), grid.rows(), cols, ld);
        reference::fill_tile_columns<T>(grid, deal, stored_tile_columns(grid, expected.data(), columns),
                                        [&](Index i, Index j) {
                                            const Index tile = grid.tile_col_of(j);
                                            return source(i, (tile - deal.first) / deal.step * width + j % width);
                                        });

        typename Kernels::template Memory<T> device_array(kernels, array), tiles(kernels, random_values<T>(stored, 2));
        const auto device_columns = stored_tile_columns(grid, tiles.data(), columns);
        kernels(on_stream::pack_tile_columns<T>, grid, deal,
                View<const T>::column_major(device_array.data(), grid.rows(), cols, ld), device_columns);
        INFO(describe(dealt));
        REQUIRE(tiles.read() == expected);

        std::vector<T> rubbish = random_values<T>(ld * cols + 2, 3);
        typename Kernels::template Memory<T> back(kernels, rubbish);
        kernels(on_stream::unpack_tile_columns<T>, grid, deal, TileColumns<const T>(device_columns),
                View<T>::column_major(back.data(), grid.rows(), cols, ld));
        for (Index j = 0; j < cols; ++j) {
            for (Index i = 0; i < grid.rows(); ++i) rubbish[at(j * ld + i)] = array[at(j * ld + i)];
        }
        REQUIRE(back.read() == rubbish);

        // the same matrix row-major
        const Index row_ld = cols + 3;
        std::vector<T> rows(at(row_ld * grid.rows() + 2));
        for (Index j = 0; j < cols; ++j) {
            for (Index i = 0; i < grid.rows(); ++i) rows[at(i * row_ld + j)] = array[at(j * ld + i)];
        }
        typename Kernels::template Memory<T> device_rows(kernels, rows), others(kernels, random_values<T>(stored, 4));
        kernels(on_stream::pack_tile_columns<T>, grid, deal,
                View<const T>::row_major(device_rows.data(), grid.rows(), cols, row_ld),
                stored_tile_columns(grid, others.data(), columns));
        REQUIRE(others.read() == expected);
    }
}

/// Each tile column in strips, into memory with gaps between its rows, and windows of it back.
template <class T, class Kernels>
void check_conversion_of_strips(Kernels& kernels, const std::vector<Dealt>& matrices) {
    for (const Dealt& dealt : matrices) {
        const TileGrid& grid = dealt.grid;
        if (dealt.deal.step != 1) continue;
        INFO(describe(dealt));
        const Index width = grid.shape().width, size = grid.tile_column_size(), ld = grid.rows() + 3;
        const std::vector<T> array = random_values<T>(ld * grid.cols() + 2, 1);
        const auto source = View<const T>::column_major(array.data(), grid.rows(), grid.cols(), ld);
        for (Index j = 0; j < grid.tile_cols(); ++j) {
            std::vector<T> expected(at(size));
            reference::fill_tile_columns<T>(grid, {j, 1}, stored_tile_columns(grid, expected.data(), 1),
                                            [&](Index i, Index column) { return source(i, column); });
            typename Kernels::template Memory<T> device_array(kernels, array),
                tiles(kernels, random_values<T>(size, 2));
            const auto whole = View<T>::row_major(tiles.data(), grid.padded_rows(), width, width);
            const Index split = grid.tile_width(j) / 3;  // nothing may come of nothing
            for (const auto& [first, end] : {std::array<Index, 2>{0, split}, {split, width}}) {
                const Index cols = std::min(end, grid.tile_width(j)) - first;
                kernels(on_stream::pack_columns<T>, grid, j, first,
                        View<const T>::column_major(device_array.data() + (grid.first_col(j) + first) * ld, grid.rows(),
                                                    cols, ld),
                        whole.block(0, first, grid.padded_rows(), end - first));
            }
            REQUIRE(tiles.read() == expected);

            // the same columns row-major
            const Index array_ld = grid.cols() + 3;
            std::vector<T> by_rows(at(array_ld * grid.rows() + 2));
            for (Index i = 0; i < grid.rows(); ++i) {
                for (Index c = 0; c < grid.cols(); ++c) by_rows[at(i * array_ld + c)] = source(i, c);
            }
            typename Kernels::template Memory<T> device_rows(kernels, by_rows),
                others(kernels, random_values<T>(size, 5));
            for (const auto& [first, end] : {std::array<Index, 2>{0, split}, {split, width}}) {
                const Index cols = std::min(end, grid.tile_width(j)) - first;
                kernels(on_stream::pack_columns<T>, grid, j, first,
                        View<const T>::row_major(device_rows.data() + grid.first_col(j) + first, grid.rows(), cols,
                                                 array_ld),
                        View<T>::row_major(others.data(), grid.padded_rows(), width, width)
                            .block(0, first, grid.padded_rows(), end - first));
            }
            REQUIRE(others.read() == expected);

            const Index row = grid.rows() / 4, rows = grid.rows() - row, cols = grid.tile_width(j) - split;
            std::vector<T> rubbish = random_values<T>(rows * cols + 5, 3);
            typename Kernels::template Memory<T> back(kernels, rubbish);
            kernels(on_stream::unpack_window<T>, View<const T>(whole.block(row, split, rows, cols)),
                    View<T>::column_major(back.data(), rows, cols, std::max<Index>(rows, 1)));
            for (Index c = 0; c < cols; ++c) {
                for (Index i = 0; i < rows; ++i) {
                    rubbish[at(c * rows + i)] = source(row + i, grid.first_col(j) + split + c);
                }
            }
            REQUIRE(back.read() == rubbish);

            const Index row_ld = cols + 2;
            std::vector<T> row_rubbish = random_values<T>(rows * row_ld + 5, 4);
            typename Kernels::template Memory<T> back_in_rows(kernels, row_rubbish);
            kernels(on_stream::unpack_window<T>, View<const T>(whole.block(row, split, rows, cols)),
                    View<T>::row_major(back_in_rows.data(), rows, cols, row_ld));
            for (Index i = 0; i < rows; ++i) {
                for (Index c = 0; c < cols; ++c) row_rubbish[at(i * row_ld + c)] = rubbish[at(c * rows + i)];
            }
            REQUIRE(back_in_rows.read() == row_rubbish);
        }
    }
}

template <class T, class Kernels>
void check_conversion_in_place(Kernels& kernels, const std::vector<Dealt>& matrices) {
    for (const Dealt& dealt : matrices) {
        const auto& [grid, deal] = dealt;
        if (deal.step != 1) continue;
        const Index ld = grid.padded_rows();
        const std::vector<T> array = random_values<T>(grid.tile_cols() * grid.tile_column_size(), 1);
        std::vector<T> expected(array.size());
        reference::fill_tile_columns<T>(grid, deal, stored_tile_columns(grid, expected.data(), grid.tile_cols()),
                                        [&](Index i, Index j) { return array[at(j * ld + i)]; });
        typename Kernels::template Memory<T> memory(kernels, array),
            buffer(kernels, std::vector<T>(at(grid.tile_column_size())));
        kernels(on_stream::pack_in_place<T>, grid, memory.data(), buffer.data());
        INFO(describe(dealt));
        REQUIRE(memory.read() == expected);
        kernels(on_stream::unpack_in_place<T>, grid, memory.data(), buffer.data());
        const std::vector<T> back = memory.read();
        for (Index j = 0; j < grid.cols(); ++j) {
            for (Index i = 0; i < grid.rows(); ++i) REQUIRE(back[at(j * ld + i)] == array[at(j * ld + i)]);
        }
    }
}

/// Room for one more tile column in front is enough to convert with one pass: each goes one place ahead.
template <class T, class Kernels>
void check_conversion_one_place_ahead(Kernels& kernels) {
    const TileGrid grid(128, 100, {32, 32});
    const Index size = grid.tile_column_size();
    const std::vector<T> array = random_values<T>((grid.tile_cols() + 1) * size, 1);
    std::vector<T> expected(array);
    reference::fill_tile_columns<T>(grid, {}, stored_tile_columns(grid, expected.data(), grid.tile_cols()),
                                    [&](Index i, Index j) { return array[at(size + j * grid.rows() + i)]; });
    typename Kernels::template Memory<T> memory(kernels, array);
    for (Index j = 0; j < grid.tile_cols(); ++j) {
        const auto source =
            View<const T>::column_major(memory.data() + (j + 1) * size, grid.rows(), grid.tile_width(j), grid.rows());
        kernels(on_stream::pack_tile_columns<T>, grid, TileDeal{j, 1}, source,
                stored_tile_columns(grid, memory.data() + j * size, 1));
    }
    std::vector<T> tiles = memory.read();
    tiles.resize(at(grid.tile_cols() * size));
    expected.resize(tiles.size());
    REQUIRE(tiles == expected);
}

template <class T, class Kernels>
void check_reordering(Kernels& kernels) {
    for (const TileShape shape : {TileShape{1, 1}, {32, 32}, {16, 50}, {64, 7}, {300, 128}, {65, 63}}) {
        for (const auto& [columns, tiles] : {std::array<Index, 2>{0, 2}, {2, 0}, {1, 1}, {3, 2}}) {
            HostColumns<T> crrb(columns, tiles * shape.height, shape.width, 1, 0),
                ccrb(columns, tiles * shape.height, shape.width, 2, 0);
            typename Kernels::template Memory<T> rows(kernels, crrb.values), cols(kernels, ccrb.values),
                back(kernels, ccrb.values);
            for (Index l = 0; l < columns; ++l) {
                for (Index i = 0; i < crrb.shape.rows; ++i) {
                    for (Index c = 0; c < shape.width; ++c) {
                        const Index tile = i / shape.height * shape.height * shape.width;
                        ccrb.columns().data[l * ccrb.shape.stride + tile + c * shape.height + i % shape.height] =
                            crrb.column(l)(i, c);
                    }
                }
            }
            kernels(on_stream::reorder_tiles<T>, shape, ElementOrder::row_major, crrb.on(rows.data()),
                    ccrb.on(cols.data()));
            INFO(columns << " columns of " << tiles << " tiles of " << shape.height << " x " << shape.width);
            REQUIRE(cols.read() == ccrb.values);
            kernels(on_stream::reorder_tiles<T>, shape, ElementOrder::column_major, ccrb.on(cols.data()),
                    crrb.on(back.data()));
            std::vector<T> home = back.read();
            for (Index l = 0; l < columns; ++l) {
                for (Index i = 0; i < crrb.shape.rows; ++i) {
                    for (Index c = 0; c < shape.width; ++c) {
                        REQUIRE(crrb.on(home.data()).column(l)(i, c) == crrb.column(l)(i, c));
                    }
                }
            }
        }
    }
}

}  // namespace basalt_tests
