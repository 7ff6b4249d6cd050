// Left-looking Cholesky on GPUs: what a panel gets of all former ones.
#include "kernels/cholesky_on_stream.hpp"
#include "kernels/on_stream.hpp"
#include "runtime/engine.hpp"
#include "tasks/gpu_cholesky_tasks.hpp"

namespace basalt::detail {

template <class T>
void GpuCholeskyTasks<T>::update_from_left(int target, int last) {
    if (last <= 0) return;
    if (g_.upper) {
        upper_from_left(target, last);
    } else {
        lower_from_left(target, last);
    }
}

/// A product for each tile column on the left, as deep as that has columns. Where the panel lies.
template <class T>
void GpuCholeskyTasks<T>::lower_from_left(int target, int last) {
    const Panel &t = panel(target), &end = panel(last - 1);
    AccessList data;
    std::vector<Index> depths;
    for (Index j = 0; j <= end.tile_column; ++j) {
        depths.push_back(j == end.tile_column ? end.col_end() : tile_width());
        data.read(g_.a->template region<T>(j, t.first, rows(), 0, depths.back()));
    }
    data.readwrite(matrix(t, t.first, rows()));
    rt_.submit(step_task("update from left", target, owner(target)), data,
               on_any_device([t, depths = std::move(depths), shape = layout()](Stream stream, const Addresses& at) {
                   const Index below = shape.rows - t.first;
                   const View<T> a = shape.column(at.back()).block(t.first, t.col_begin, below, t.width);
                   for (std::size_t j = 0; j < depths.size(); ++j) {
                       const View<T> l = shape.column(at[j]).block(t.first, 0, below, depths[j]);
                       on_stream::subtract_transposed_product<T>(stream, l, l.block(0, 0, t.width, depths[j]), a);
                   }
               }));
}

/// One product as deep as there are rows above the panel's, A(t, j) -= U(:last, t)^T U(:last, j), for all tile columns of a GPU.
/// U(:last, t) is transposed by the GPU that has it and sent to all.
template <class T>
void GpuCholeskyTasks<T>::upper_from_left(int target, int last) {
    const Panel& t = panel(target);
    const Index depth = panel(last - 1).end();
    const auto left = g_.lefts[static_cast<std::size_t>(target % 2)].rows(0, t.width * depth, 1);
    rt_.submit(step_task("take left", target, owner(target)), read(matrix(t, 0, depth)), write(left),
               on_any_device([](Stream stream, View<const T> u, View<T> to) {
                   on_stream::copy_window<T>(stream, transposed(u),
                                             View<T>::row_major(to.data(), u.cols(), u.rows(), u.rows()));
               }));
    rt_.broadcast(left);
    for (int gpu = 0; gpu < g_.gpus; ++gpu) {
        AccessList data;
        data.read(left);
        GpuColumns<T> columns{rows(), tile_width(), 0, 0};
        std::vector<Region<T>> targets;
        for (Index j = t.tile_column; j < grid().tile_cols(); ++j) {
            if (g_.device_of(j) != gpu) continue;
            const Index begin = j == t.tile_column ? t.col_begin : 0;
            if (targets.empty()) columns.col_begin = begin;
            columns.col_end = grid().tile_width(j);
            data.read(g_.a->template region<T>(j, 0, depth, begin, columns.col_end));
            targets.push_back(g_.a->template region<T>(j, t.first, t.end(), begin, columns.col_end));
        }
        if (targets.empty()) continue;
        for (const Region<T>& region : targets) data.readwrite(region);
        rt_.submit(step_task("update from left", target, gpu), data,
                   on_any_device([t, depth, columns, count = targets.size()](Stream stream, const Addresses& at) {
                       const auto l = View<const T>::row_major(static_cast<const T*>(at[0]), t.width, depth, depth);
                       columns.for_each_group(at.data() + 1, count, [&](TileColumns<T> group) {
                           on_stream::update_trailing<T>(stream, l, group.row_range(0, depth),
                                                         group.row_range(t.first, t.width));
                       });
                   }));
    }
}

template void GpuCholeskyTasks<float>::update_from_left(int, int);
template void GpuCholeskyTasks<float>::lower_from_left(int, int);
template void GpuCholeskyTasks<float>::upper_from_left(int, int);
template void GpuCholeskyTasks<double>::update_from_left(int, int);
template void GpuCholeskyTasks<double>::lower_from_left(int, int);
template void GpuCholeskyTasks<double>::upper_from_left(int, int);

}  // namespace basalt::detail
