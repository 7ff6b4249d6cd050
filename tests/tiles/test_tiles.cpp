#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <basalt/error.hpp>

#include "tests/common/catch.hpp"
#include "tiles/convert.hpp"
#include "tiles/copy.hpp"
#include "tiles/generate.hpp"
#include "tiles/panels.hpp"

using namespace basalt;

namespace {

constexpr ElementOrder both_orders[] = {ElementOrder::row_major, ElementOrder::column_major};

/// A value that names its place, exact in float for the sizes used here.
template <class T>
T place(Index i, Index j) {
    return static_cast<T>(i * 512 + j + 1);
}

/// Position of padded element (i, j) in its tile column, from the definition of the two layouts.
Index offset(const TileGrid& grid, ElementOrder order, Index i, Index j) {
    const auto [height, width] = grid.shape();
    if (order == ElementOrder::row_major) return i * width + j % width;
    return i / height * height * width + j % width * height + i % height;
}

struct Shape {
    Index m, n;
    TileShape tile;
};

std::vector<Shape> ragged_shapes() {
    std::vector<Shape> shapes;
    const TileShape tiles[] = {{8, 8}, {4, 6}, {24, 16}, {16, 40}, {1, 1}, {3, 64}};
    for (const TileShape tile : tiles) {
        const Index heights[] = {0, 1, tile.height - 1, tile.height, tile.height + 1, 3 * tile.height + 2};
        const Index widths[] = {0, 1, tile.width - 1, tile.width, tile.width + 1, 2 * tile.width + 3};
        for (const Index m : heights) {
            for (const Index n : widths) shapes.push_back({m, n, tile});
        }
    }
    shapes.push_back({200, 17, {16, 16}});
    shapes.push_back({17, 200, {16, 16}});
    return shapes;
}

/// An m x n array inside a larger one of sentinels, column-major or row-major or with no unit stride at all.
template <class T>
struct Framed {
    Framed(Index m, Index n, int layout) {
        const Index ld = (layout == 0 ? m : n) + 3;
        data.assign(static_cast<std::size_t>(2 * (m + 4) * (n + 4)), T(-7));
        if (layout == 0) view = View<T>::column_major(data.data() + 1, m, n, ld);
        if (layout == 1) view = View<T>::row_major(data.data() + 1, m, n, ld);
        if (layout == 2) view = View<T>(data.data() + 1, m, n, 2 * ld, 2);
    }
    std::vector<T> data;
    View<T> view;
};

/// The number of elements of the stored columns that differ from what packing A(i, j) = place(i, j) must
/// give.
template <class T>
Index wrong_elements(const TileGrid& grid, ElementOrder order, const std::vector<T>& columns) {
    Index wrong = 0;
    for (Index j = 0; j < grid.padded_cols(); ++j) {
        for (Index i = 0; i < grid.padded_rows(); ++i) {
            const bool below = i >= grid.rows();
            const bool right = j >= grid.cols();
            T expected = place<T>(i, j);
            if (below || right) expected = below && right && i == j ? T(1) : T(0);
            const Index column = grid.tile_col_of(j) * grid.tile_column_size();
            if (columns[column + offset(grid, order, i, j)] != expected) ++wrong;
        }
    }
    return wrong;
}

template <class T>
void check_round_trip(const Shape& shape, ElementOrder order, int layout, Index step) {
    const TileGrid grid(shape.m, shape.n, shape.tile);
    Framed<T> source(shape.m, shape.n, layout);
    for (Index j = 0; j < shape.n; ++j) {
        for (Index i = 0; i < shape.m; ++i) source.view(i, j) = place<T>(i, j);
    }
    std::vector<T> columns(static_cast<std::size_t>(grid.tile_column_size() * grid.tile_cols()), T(-9));
    Framed<T> target(shape.m, shape.n, layout);
    for (Index j = 0; j < grid.tile_cols(); ++j) {
        T* const column = columns.data() + j * grid.tile_column_size();
        for (Index row = 0; row < grid.padded_rows(); row += step) {
            const Index end = std::min(row + step, grid.padded_rows());
            pack_tile_column<T>(grid, j, row, end, order, source.view, column);
            unpack_tile_column<T>(grid, j, row, end, order, column, target.view);
        }
    }
    CAPTURE(shape.m, shape.n, shape.tile.height, shape.tile.width, static_cast<int>(order), layout, step);
    CHECK(wrong_elements(grid, order, columns) == 0);
    CHECK(target.data == source.data);  // sentinels around the matrix included
}

std::string message_of(Index m, Index n, TileShape shape) {
    try {
        const TileGrid grid(m, n, shape);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "";
}

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a grid counts tiles and tells ragged ones from full ones") {
    const TileGrid grid(10, 7, {4, 3});
    CHECK(grid.tile_rows() == 3);
    CHECK(grid.tile_cols() == 3);
    CHECK(grid.padded_rows() == 12);
    CHECK(grid.padded_cols() == 9);
    CHECK(grid.tile_size() == 12);
    CHECK(grid.tile_column_size() == 36);
    CHECK(grid.tile_height(1) == 4);
    CHECK(grid.tile_height(2) == 2);
    CHECK(grid.tile_width(1) == 3);
    CHECK(grid.tile_width(2) == 1);
    CHECK(grid.first_row(2) == 8);
    CHECK(grid.first_col(2) == 6);
    CHECK(grid.tile_row_of(7) == 1);
    CHECK(grid.tile_col_of(6) == 2);
}

TEST_CASE("empty matrices have no tiles in the empty dimension") {
    const TileGrid flat(0, 5, {4, 2});
    CHECK(flat.tile_rows() == 0);
    CHECK(flat.tile_cols() == 3);
    CHECK(flat.tile_column_size() == 0);
    const TileGrid thin(5, 0, {4, 2});
    CHECK(thin.tile_rows() == 2);
    CHECK(thin.tile_cols() == 0);
    CHECK(thin.tile_column_size() == 16);
    CHECK(TileGrid().tile_cols() == 0);
}

TEST_CASE("a grid refuses sizes that make no sense and says which and what is allowed") {
    CHECK(message_of(1, 1, {1, 1}).empty());
    for (const auto& text : {message_of(-3, 1, {1, 1}), message_of(1, -3, {1, 1})}) {
        CHECK(mentions(text, "-3"));
        CHECK(mentions(text, "at least 0"));
    }
    for (const auto& text : {message_of(1, 1, {0, 1}), message_of(1, 1, {1, 0})}) {
        CHECK(mentions(text, "at least 1"));
    }
    CHECK(mentions(message_of(1, 1, {0, 1}), "height"));
    CHECK(mentions(message_of(1, 1, {1, 0}), "width"));
}

TEST_CASE("a grid refuses sizes that overflow 64 bits") {
    const Index huge = Index{1} << 62;
    CHECK(mentions(message_of(huge, 4, {1, 1}), "9223372036854775807"));
    CHECK(mentions(message_of(1, 1, {huge, 4}), "tile"));
    CHECK(mentions(message_of(INT64_MAX, 1, {huge, 1}), "padded rows"));
    CHECK(mentions(message_of(1, INT64_MAX, {1, huge}), "padded columns"));
    CHECK(mentions(message_of(huge, 1, {1, 4}), "tile column"));
    CHECK(message_of(huge, 1, {1, 1}).empty());
    CHECK(message_of(0, huge, {4, 1}).empty());
}

TEST_CASE("tile views show the true elements of a tile in either order") {
    const TileGrid grid(10, 7, {4, 3});
    std::vector<int> column(static_cast<std::size_t>(grid.tile_column_size()));
    for (const ElementOrder order : both_orders) {
        const View<int> tile = tile_view(grid, 2, 2, order, column.data());
        CHECK(tile.rows() == 2);
        CHECK(tile.cols() == 1);
        CHECK(&tile(1, 0) == column.data() + offset(grid, order, 9, 6));
        const View<int> full = tile_view(grid, 1, 0, order, column.data());
        CHECK(&full(3, 2) == column.data() + offset(grid, order, 7, 2));
    }
    const View<int> all = tile_column_view(grid, 0, column.data());
    CHECK(all.rows() == 10);
    CHECK(all.cols() == 3);
    CHECK(&all(9, 2) == column.data() + offset(grid, ElementOrder::row_major, 9, 2));
}

TEMPLATE_TEST_CASE("packing and unpacking keep every element and write the padding", "", float, double) {
    for (const Shape& shape : ragged_shapes()) {
        for (const ElementOrder order : both_orders) {
            for (const int layout : {0, 1, 2}) {
                for (const Index step : {Index{1000}, Index{5}}) {
                    check_round_trip<TestType>(shape, order, layout, step);
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("transposing copies agree with element by element ones at every edge", "", float, double) {
    for (const Index rows : {1, 7, 8, 15, 16, 17, 33}) {
        for (const Index cols : {1, 7, 8, 15, 16, 17, 50}) {
            for (const Index extra : {0, 40}) {
                std::vector<TestType> from(static_cast<std::size_t>((rows + extra) * cols));
                for (std::size_t k = 0; k < from.size(); ++k) from[k] = static_cast<TestType>(k + 1);
                const auto source = View<const TestType>::column_major(from.data(), rows, cols, rows + extra);
                const Index ld = extra == 0 ? cols : 64;  // 64: of any type whole cache lines
                for (const Index shift : {0, 1, 5}) {
                    std::vector<TestType> to(static_cast<std::size_t>(shift + rows * ld));
                    const auto target = View<TestType>::row_major(to.data() + shift, rows, cols, ld);
                    for (const Caching caching : {Caching::keep, Caching::bypass}) {
                        std::fill(to.begin(), to.end(), TestType{0});
                        copy_elements(source, target, caching);
                        Index wrong = 0;
                        for (Index i = 0; i < rows; ++i) {
                            for (Index j = 0; j < cols; ++j) wrong += target(i, j) != source(i, j) ? 1 : 0;
                        }
                        CAPTURE(rows, cols, extra, shift, static_cast<int>(caching));
                        CHECK(wrong == 0);
                        CHECK(std::count(to.begin(), to.end(), TestType{0}) == std::ssize(to) - rows * cols);
                    }
                }
            }
        }
    }
}

TEST_CASE("filling the padding leaves the elements of the matrix alone") {
    const TileGrid grid(10, 10, {4, 6});
    for (const ElementOrder order : both_orders) {
        std::vector<double> columns(static_cast<std::size_t>(grid.tile_column_size() * grid.tile_cols()));
        for (Index j = 0; j < grid.cols(); ++j) {
            for (Index i = 0; i < grid.rows(); ++i) {
                columns[grid.tile_col_of(j) * grid.tile_column_size() + offset(grid, order, i, j)] =
                    place<double>(i, j);
            }
        }
        for (Index j = 0; j < grid.tile_cols(); ++j) {
            fill_padding(grid, j, 0, grid.padded_rows(), order, columns.data() + j * grid.tile_column_size());
        }
        CHECK(wrong_elements(grid, order, columns) == 0);
    }
}

TEST_CASE("conversion refuses arrays and row ranges that do not fit the grid") {
    const TileGrid grid(10, 7, {4, 3});
    std::vector<double> data(100);
    std::vector<double> column(static_cast<std::size_t>(grid.tile_column_size()));
    const auto right = View<double>::column_major(data.data(), 10, 7, 10);
    const auto wrong = View<double>::column_major(data.data(), 7, 10, 7);
    const auto pack = [&](Index j, Index begin, Index end, View<const double> source) {
        pack_tile_column<double>(grid, j, begin, end, ElementOrder::row_major, source, column.data());
    };
    CHECK_NOTHROW(pack(2, 0, 12, right));
    CHECK_NOTHROW(pack(2, 5, 5, right));
    CHECK_THROWS_AS(pack(2, 0, 12, wrong), UsageError);
    CHECK_THROWS_AS(pack(3, 0, 12, right), UsageError);
    CHECK_THROWS_AS(pack(-1, 0, 12, right), UsageError);
    CHECK_THROWS_AS(pack(0, -1, 12, right), UsageError);
    CHECK_THROWS_AS(pack(0, 0, 13, right), UsageError);
    CHECK_THROWS_AS(pack(0, 4, 3, right), UsageError);
    CHECK_THROWS_AS(unpack_tile_column<double>(grid, 0, 0, 12, ElementOrder::row_major, column.data(), wrong),
                    UsageError);
}

TEMPLATE_TEST_CASE("generating tile columns equals packing the generated matrix", "", float, double) {
    const Index m = 45;
    const Index n = 38;
    const TileGrid grid(m, n, {16, 12});
    for (const std::string_view name : {"hpl", "random", "spd"}) {
        const auto generator = make_generator<TestType>(name, m, n, 5);
        std::vector<TestType> array(static_cast<std::size_t>(m * n));
        const auto matrix = View<TestType>::column_major(array.data(), m, n, m);
        generator->fill(matrix, 0, 0);
        for (const ElementOrder order : both_orders) {
            const auto size = static_cast<std::size_t>(grid.tile_column_size());
            for (Index j = 0; j < grid.tile_cols(); ++j) {
                std::vector<TestType> packed(size, -1);
                std::vector<TestType> generated(size, -2);
                pack_tile_column<TestType>(grid, j, 0, grid.padded_rows(), order, matrix, packed.data());
                generate_tile_column(grid, j, 0, 21, order, *generator, generated.data());
                generate_tile_column(grid, j, 21, grid.padded_rows(), order, *generator, generated.data());
                CHECK(packed == generated);
            }
        }
    }
    const auto small = make_generator<TestType>("random", m - 1, n);
    std::vector<TestType> column(static_cast<std::size_t>(grid.tile_column_size()));
    CHECK_THROWS_AS(generate_tile_column(grid, 0, 0, 1, ElementOrder::row_major, *small, column.data()), UsageError);
}

namespace {

/// Deep blocks are all panels in order; each is of one panel or within its limits, and could not have been deeper.
void check_deep_blocks(const std::vector<detail::Panel>& panels, Index n) {
    for (const auto& [depth, left_a_column] : {std::pair<Index, Index>{1, 1}, {64, 1}, {64, 4}, {1000, 0}}) {
        INFO("depth " << depth << ", " << left_a_column << " left a column");
        const auto end_of = [&](int last) { return panels[static_cast<std::size_t>(last - 1)].end(); };
        const auto fits = [&, depth = depth, left = left_a_column](int first, int last) {
            const Index width = end_of(last) - panels[static_cast<std::size_t>(first)].first;
            return width <= depth && n - end_of(last) >= width * left;
        };
        int next = 0;
        for (const detail::PanelBlock& block : detail::cut_deep_blocks(panels, depth, left_a_column, n)) {
            REQUIRE(block.first == next);
            REQUIRE(block.panels() > 0);
            CHECK((block.panels() == 1 || fits(block.first, block.last)));
            CHECK((block.last == std::ssize(panels) || !fits(block.first, block.last + 1)));
            next = block.last;
        }
        CHECK(next == std::ssize(panels));
    }
}

}  // namespace

TEST_CASE("panels are found by tile column and counted as they are cut, and soon where there are very many") {
    using detail::PanelWidths;
    for (const TileShape tile : {TileShape{8, 7}, {16, 32}, {64, 100}}) {
        for (const Index m : {0, 1, 31, 100, 257}) {
            for (const Index n : {0, 1, 32, 99, 200, 300}) {
                const TileGrid grid(m, n, tile);
                for (const PanelWidths widths : {PanelWidths{1},
                                                 {7},
                                                 {32},
                                                 {100},
                                                 {1000},
                                                 {32, 64},
                                                 {32, 0, 4, 5},
                                                 {16, 100, 8, 2},
                                                 {31, 0, 100, 1}}) {
                    INFO(m << " x " << n << ", tiles of " << tile.width << ", panels of " << widths.width);
                    const std::vector<detail::Panel> panels = detail::cut_panels(grid, widths);
                    CHECK(detail::count_panels(grid, widths) == std::ssize(panels));
                    check_deep_blocks(panels, n);
                    for (Index j = 0; j <= grid.tile_cols(); ++j) {
                        CHECK(detail::first_panel(panels, j) ==
                              std::count_if(panels.begin(), panels.end(),
                                            [j](const detail::Panel& panel) { return panel.tile_column < j; }));
                    }
                }
            }
        }
    }
    const Index huge = 1'000'000'000;
    CHECK(detail::count_panels(TileGrid(huge, huge, {4096, 4096}), {2}) == huge / 2);
}
