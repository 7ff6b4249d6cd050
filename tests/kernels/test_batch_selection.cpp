// Which kernel treats which matrix of a list of different shapes.
#include <vector>

#include "kernels/cuda/batch/selection.hpp"
#include "tests/common/catch.hpp"

using namespace basalt;
namespace device = basalt::cuda_detail::batch;

namespace {

using device::Selection;
using device::Shapes;

View<double> matrix(Index rows, Index cols) {
    return View<double>::column_major(nullptr, rows, cols, rows > 1 ? rows : 1);
}

std::vector<Selection> classes_of(Shapes shapes, Index most_rows, Index most_cols) {
    std::vector<Selection> classes;
    device::for_each_class(BatchView<double>::matrices({}, most_rows, most_cols), shapes,
                           [&](const Selection& selection) { classes.push_back(selection); });
    return classes;
}

int warps(Index size) { return size == 0 ? 1 : static_cast<int>((size + device::lanes - 1) / device::lanes); }

/// Each matrix that the call treats is of one class, of as many threads as its own size has.
void check_classes(Shapes shapes, Index most_rows, Index most_cols) {
    const auto classes = classes_of(shapes, most_rows, most_cols);
    const View<double> bounds = matrix(most_rows, most_cols);
    for (Index rows = 0; rows <= most_rows + 1; ++rows) {
        for (Index cols = 0; cols <= most_cols + 1; ++cols) {
            const View<double> own = matrix(rows, cols);
            std::vector<Selection> taken;
            for (const Selection& selection : classes) {
                if (selection.takes(bounds, own)) taken.push_back(selection);
            }
            INFO(rows << " x " << cols << " of at most " << most_rows << " x " << most_cols << ", shapes "
                      << static_cast<int>(shapes));
            const bool wide = rows < cols || cols == 0;
            const bool allowed = rows <= most_rows && cols <= most_cols &&
                                 (shapes == Shapes::any || (shapes == Shapes::square && rows == cols) ||
                                  (shapes == Shapes::wide && wide) || (shapes == Shapes::tall && !wide));
            REQUIRE(on_stream::treats(shapes, bounds, own) == allowed);
            REQUIRE(taken.size() == (allowed ? 1 : 0));
            if (!allowed) continue;
            const Index larger = rows > cols ? rows : cols;
            REQUIRE(taken[0].small == (larger <= device::lanes));
            if (taken[0].small) {
                REQUIRE(larger <= taken[0].most);
            } else {
                REQUIRE(warps(shapes == Shapes::wide ? larger : rows) == warps(taken[0].most));
            }
        }
    }
}

}  // namespace

TEST_CASE("every matrix of a list has one kernel", "[kernels]") {
    for (const Shapes shapes : {Shapes::any, Shapes::square, Shapes::tall, Shapes::wide}) {
        check_classes(shapes, 0, 0);
        check_classes(shapes, 7, 7);
        check_classes(shapes, 32, 32);
        check_classes(shapes, 130, 130);
        if (shapes == Shapes::square) continue;
        check_classes(shapes, 20, 100);
        check_classes(shapes, 100, 20);
        check_classes(shapes, 0, 40);
        check_classes(shapes, 40, 0);
    }
}

TEST_CASE("matrices of a list are not looked at beyond their bounds", "[kernels]") {
    const View<double> bounds = matrix(50, 50);
    const auto treated = [&](const View<double>& own) { return on_stream::treats(Shapes::any, bounds, own); };
    CHECK(treated(matrix(50, 50)));
    CHECK_FALSE(treated(View<double>::row_major(nullptr, 4, 4, 4)));
    CHECK_FALSE(treated(View<double>::column_major(nullptr, 4, 4, 3)));
    CHECK_FALSE(treated(View<double>::column_major(nullptr, 4, 4, on_stream::most_listed_ld + 1)));
    CHECK_FALSE(treated(View<double>::column_major(nullptr, -1, 4, 4)));
    CHECK_FALSE(treated(View<double>::column_major(nullptr, 4, -1, 4)));
}

TEST_CASE("a batch of one shape has one kernel", "[kernels]") {
    for (const Index n : {0, 1, 32, 33, 512}) {
        std::vector<Selection> classes;
        device::for_each_class(BatchView<double>::strided(nullptr, 1, n, n, n > 1 ? n : 1, n * n), Shapes::square,
                               [&](const Selection& selection) { classes.push_back(selection); });
        REQUIRE(classes.size() == 1);
        CHECK(classes[0].most == n);
        CHECK(classes[0].small == (n <= device::lanes));
    }
}
