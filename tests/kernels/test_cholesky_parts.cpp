// What Cholesky on GPUs is made of: triangles in strips, the model of their transfer, and which blocks an update
// computes.
#include <vector>

#include "kernels/cpu/cholesky/cholesky.hpp"
#include "kernels/cpu/cholesky/panel.hpp"
#include "tests/tasks/cholesky/cholesky_cases.hpp"
#include "tiles/cholesky_products.hpp"
#include "tiles/triangle_transfer.hpp"

using namespace basalt;
using namespace basalt_tests;
using detail::BlockProduct;
using detail::Panel;
using detail::PanelRange;

namespace {

GpuTuning measured() { return TuningTables::built_in().for_gpu("sm_90"); }

/// A dense lower triangle to strips or back; elements that no strip holds keep their values.
template <class T, bool to_strips>
void copy_strips(const TriangleStrips& strips, View<T> dense, std::vector<T>& array) {
    for (Index s = 0; s < strips.count(); ++s) {
        const View<T> strip = strips.strip(array.data(), s);
        for (Index i = 0; i < strip.rows(); ++i) {
            for (Index j = 0; j < strip.cols(); ++j) {
                T& other = dense(strips.first(s) + i, j);
                (to_strips ? strip(i, j) : other) = to_strips ? other : strip(i, j);
            }
        }
    }
}

/// How often the products write each element.
std::vector<int> written(Index n, const std::vector<Panel>& panels,
                         const std::vector<std::vector<BlockProduct>>& by_column, double& operations, Index depth) {
    std::vector<int> times(static_cast<std::size_t>(n * n));
    for (const auto& products : by_column) {
        for (const BlockProduct& b : products) {
            for (Index i = b.row; i < b.end; ++i) {
                for (Index j = b.first; j < b.first + b.width; ++j) ++times[static_cast<std::size_t>(i * n + j)];
            }
            operations += 2.0 * static_cast<double>((b.end - b.row) * b.width * depth);
            for (const Panel& p : panels) {
                if (p.first == b.first) CHECK(p.col_begin == b.col);
            }
        }
    }
    return times;
}

/// Of a panel: its square is factored, and solved with for the rows below.
double panel_operations(double width, double rows_below) {
    return width * width * width / 3 + width * width * rows_below;
}

}  // namespace

TEST_CASE("a triangle is in as many strips as its transfer takes the least time with", "[cholesky]") {
    for (const Index order : {1, 7, 64, 200, 256, 512, 1000, 1024}) {
        for (const double rate : {1e8, 25e9, 55e9, 1e12}) {
            GpuTuning gpu = measured();
            gpu.links.host_bytes_a_second = rate;
            const TriangleStrips chosen = detail::strips_of_least_time(gpu, order, sizeof(double));
            INFO("order " << order << " at " << rate << " bytes a second: " << chosen.count() << " strips");
            for (Index count = 1; count <= std::min<Index>(order, 64); ++count) {
                const TriangleStrips strips(order, count);
                CHECK(detail::transfer_seconds(gpu, chosen, 8) <= detail::transfer_seconds(gpu, strips, 8));
            }
        }
    }
    // n sqrt(8 bytes / (2 x 55 GB/s x 3.3 us)) = 0.0047 n
    CHECK(detail::strips_of_least_time(measured(), 128, sizeof(double)).count() == 1);
    CHECK(detail::strips_of_least_time(measured(), 256, sizeof(double)).count() == 1);
    CHECK(detail::strips_of_least_time(measured(), 512, sizeof(double)).count() == 2);
    CHECK(detail::strips_of_least_time(measured(), 1024, sizeof(double)).count() == 5);
    CHECK(detail::strips_of_least_time(measured(), 384, sizeof(float)).count() == 1);
}

TEST_CASE("strips hold the lower triangle and nothing twice", "[cholesky]") {
    for (const Index order : {0, 1, 5, 32, 33, 100}) {
        for (const Index count : {1, 2, 3, 7, 100}) {
            const TriangleStrips strips(order, count);
            CHECK(strips.count() <= std::max<Index>(count, 1));
            Index elements = 0, row = 0;
            for (Index s = 0; s < strips.count(); ++s) {
                CHECK(strips.first(s) == row);
                CHECK(strips.offset(s) == elements);
                row = strips.end(s);
                elements += strips.rows(s) * row;
            }
            CHECK(row == order);
            CHECK(strips.elements() == elements);
        }
    }
    CHECK(TriangleStrips(100, 1).elements() == 10000);
    CHECK(TriangleStrips(100, 2).elements() == 7500);
    CHECK(TriangleStrips(100, 4).elements() == 6250);
}

TEMPLATE_TEST_CASE("a triangle in strips gets the factor, INFO and prepared triangle of a dense one", "[cholesky]",
                   float, double) {
    using T = TestType;
    for (const Index n : {1, 6, 33, 65, 70, 129, 200}) {
        for (const Index count : {1, 2, 3, 8}) {
            INFO("order " << n << " in " << count << " strips");
            const TriangleStrips strips(n, count);
            const Dense<T> a = spd_dense<T>(Triangle::lower, n, 3);
            CholeskyResult<T> got{a, 0};
            std::vector<T> array(static_cast<std::size_t>(strips.elements()));
            copy_strips<T, true>(strips, got.factor.view(), array);
            got.info = cpu_kernels::factor_strips(strips, array.data());
            copy_strips<T, false>(strips, got.factor.view(), array);
            check_cholesky(Triangle::lower, a, got);

            Dense<T> prepared(n, n), expected(n, n);
            std::vector<T> scale(static_cast<std::size_t>(n)), scale_expected(scale);
            const auto rows = [n](Dense<T>& d) { return View<T>::row_major(d.values.data(), n, n, n); };
            cpu_kernels::prepare_solve<T>(strips, array.data(), rows(prepared), scale.data());
            cpu_kernels::prepare_solve<T>(got.factor.view(), rows(expected), scale_expected.data());
            CHECK(prepared.values == expected.values);
            CHECK(scale == scale_expected);

            for (const Index bad : {Index{0}, n / 2, n - 1}) {
                Dense<T> broken = a;
                broken(bad, bad) = T{-1};
                copy_strips<T, true>(strips, broken.view(), array);
                CHECK(cpu_kernels::factor_strips(strips, array.data()) == bad + 1);
            }
        }
    }
}

TEST_CASE("the update of a triangle of tile columns takes few batches", "[cholesky]") {
    for (const auto& [columns, most] : {std::array<std::size_t, 2>{1, 2}, {2, 4}, {8, 8}, {16, 12}, {32, 20}}) {
        const Index width = 8, n = width * static_cast<Index>(columns);
        const std::vector<Panel> panels = detail::cut_panels(TileGrid(n, n, {width, width}), {width / 2});
        std::vector<PanelRange> ranges;
        for (int j = 0; j < static_cast<int>(columns); ++j) ranges.push_back({2 * j, 2 * j + 2});
        CHECK(detail::lower_batches(panels, n, ranges).size() <= most);
        const std::vector<Panel> in_one = detail::cut_panels(TileGrid(n, n, {n, n}), {width / 2});
        const PanelRange all{0, static_cast<int>(in_one.size())};
        CHECK(detail::lower_batches(in_one, n, {all}).size() <= most);
    }
}

TEST_CASE("updates write their triangle once, less than a panel beyond it, and no more operations than allowed",
          "[cholesky]") {
    for (const auto& [n, width, nb, gpus] : {std::array<Index, 4>{1, 8, 4, 1},
                                             {40, 8, 4, 1},
                                             {77, 24, 8, 1},
                                             {77, 24, 8, 2},
                                             {100, 32, 12, 3},
                                             {64, 64, 16, 1},
                                             {168, 8, 8, 1},
                                             {200, 8, 4, 3},
                                             {130, 16, 8, 2}}) {
        const TileGrid grid(n, n, {width, width});
        const std::vector<Panel> panels = detail::cut_panels(grid, {nb});
        const int steps = static_cast<int>(panels.size());
        const auto panels_of = [&](Index j) {
            PanelRange range{steps, 0};
            for (int p = 0; p < steps; ++p) {
                if (panels[static_cast<std::size_t>(p)].tile_column != j) continue;
                range = {std::min(range.first, p), p + 1};
            }
            return range;
        };
        for (const bool upper : {false, true}) {
            double operations = 0;
            for (int k = 0; k < steps; ++k) {
                const Panel& panel = panels[static_cast<std::size_t>(k)];
                operations += panel_operations(static_cast<double>(panel.width), static_cast<double>(n - panel.end()));
                for (const PanelRange range : {PanelRange{k + 1, std::min(k + 2, steps)}, PanelRange{k + 2, steps}}) {
                    if (range.empty()) continue;
                    std::vector<std::vector<BlockProduct>> products(static_cast<std::size_t>(grid.tile_cols()));
                    for (Index gpu = 0; gpu < gpus; ++gpu) {
                        std::vector<Index> own_columns;
                        std::vector<PanelRange> ranges;
                        for (Index j = gpu; j < grid.tile_cols(); j += gpus) {
                            const PanelRange own = panels_of(j);
                            const PanelRange columns{std::max(own.first, range.first), std::min(own.last, range.last)};
                            if (upper ? own.last <= range.first : columns.empty()) continue;
                            own_columns.push_back(j);
                            ranges.push_back(upper ? own : columns);
                        }
                        const std::vector<detail::ProductBatch> batches =
                            upper ? detail::upper_batches(panels, range, ranges)
                                  : detail::lower_batches(panels, n, ranges);
                        for (const detail::ProductBatch& batch : batches) {
                            for (Index i = 0; i < batch.count; ++i) {
                                const Index column = own_columns[static_cast<std::size_t>(batch.column_of(i))];
                                products[static_cast<std::size_t>(column)].push_back(batch[i]);
                            }
                        }
                    }
                    const Index begin = panels[static_cast<std::size_t>(range.first)].first;
                    const Index end = panels[static_cast<std::size_t>(range.last - 1)].end();
                    const auto times = written(n, panels, products, operations, panel.width);
                    INFO("n = " << n << ", step " << k << (upper ? ", upper" : ", lower"));
                    int wrong = 0;
                    for (Index i = 0; i < n; ++i) {
                        for (Index j = 0; j < n; ++j) {
                            const Index row = upper ? j : i, col = upper ? i : j;  // of the lower triangle
                            const bool own = row >= col && col >= begin && col < end;
                            const int found = times[static_cast<std::size_t>(i * n + j)];
                            if (own ? found != 1 : found != 0 && (row >= col || col - row >= nb)) ++wrong;
                        }
                    }
                    CHECK(wrong == 0);
                }
            }
            const auto order = static_cast<double>(n), panel = static_cast<double>(nb);
            CHECK(operations <= (1 + 1.5 * panel / order) * order * order * order / 3);
        }
    }
}
