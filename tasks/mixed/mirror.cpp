#include <algorithm>

#include "kernels/on_stream.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "runtime/storage/matrix_storage.hpp"
#include "tasks/mixed/kernel_calls.hpp"
#include "tasks/mixed/solve.hpp"

namespace basalt::detail {

namespace {

/// block(i, j) = block(j, i) for i <= j - 1. Elements that are read are not written.
constexpr auto mirror_square = [](const auto& on, View<double> block) {
    on(on_stream::copy_triangle<double>, Triangle::upper, Index{-1}, View<const double>(transposed(block)), block);
};

}  // namespace

void mirror_lower_triangle(const Matrix<double>& a, ColumnsAt where) {
    const bool on_gpus = where == ColumnsAt::gpus;
    Runtime& runtime = a.runtime();
    const TileGrid& grid = a.share_storage()->grid();
    for (Index j = 0; j < grid.tile_cols(); ++j) {
        const Index first = grid.first_col(j), width = grid.tile_width(j);
        const auto square = readwrite(a.block(j, first, first + width, 0, width));
        const TaskOptions options{
            .name = "mirror", .tile = {static_cast<int>(j)}, .place = on_gpus ? a.dealt_to(j) : Place::cpu()};
        if (on_gpus) {
            runtime.submit(options, square, on_any_device([](Stream stream, View<double> block) {
                               mirror_square(InStream{stream}, block);
                           }));
        } else {
            runtime.submit(options, square, [](View<double> block) { mirror_square(OnCore{}, block); });
        }
        for (Index i = 0; i < j; ++i) {  // rows of tile column i become columns of tile column j
            const Index other = grid.first_col(i), cols = grid.tile_width(i);
            const auto source = read(a.block(i, first, first + width, 0, cols));
            const auto target = write(a.block(j, other, other + cols, 0, width));
            if (on_gpus) {
                runtime.submit(options, source, target,
                               on_any_device([](Stream stream, View<const double> from, View<double> to) {
                                   on_stream::copy_window<double>(stream, transposed(from), to);
                               }));
            } else {
                runtime.submit(options, source, target, [](View<const double> from, View<double> to) {
                    on_stream::copy_triangle<double>.on_cpu(Triangle::lower, -from.rows() - from.cols(),
                                                            transposed(from), to);
                });
            }
        }
    }
}

}  // namespace basalt::detail
