// QR in the modes hybrid and gpu: what a panel does to the columns on its right.
#include <algorithm>
#include <optional>
#include <vector>

#include "kernels/on_stream.hpp"
#include "runtime/device/gpus.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "tasks/qr/gpu_tasks.hpp"

namespace basalt::detail {

template <class T>
void GpuQrTasks<T>::update_leading(int k, int next) {
    const Panel& p = panel(next);
    const std::optional<int> opened = g_.in_place ? std::optional(next) : std::nullopt;
    submit_update(k, {.gpu = geometry_.owner(next), .leading = true, .gate = opened}, {p.tile_column}, p.col_begin,
                  p.col_end(), products(rows() - panel(k).first, panel(k).width, tile_width()));
}

template <class T>
void GpuQrTasks<T>::update_rest(int k, const ColumnPlace& first, std::optional<int> next) {
    const Index begin = std::max(first.tile_column, group_.first);
    for (int g = 0; g < geometry_.gpus(); ++g) {
        const std::vector<Index> mine = geometry_.columns_of(g, begin, group_.last);
        if (mine.empty()) continue;
        const Index col_begin = mine.front() == first.tile_column ? first.col : 0;
        const bool waits = next && on_gpu(*next) && geometry_.owner(*next) == g;
        const Part part{.gpu = g, .gate = waits ? next : std::nullopt};
        const Multiplication how =
            products(rows() - panel(k).first, panel(k).width, static_cast<Index>(mine.size()) * tile_width());
        if (k > 0) {
            submit_update(k, part, mine, col_begin, tile_width(), how);
            continue;
        }
        // a task for each tile column, since later ones may still be on their way from the host
        for (const Index j : mine) submit_update(k, part, {j}, j == mine.front() ? col_begin : 0, tile_width(), how);
    }
}

template <class T>
Multiplication GpuQrTasks<T>::products(Index rows, Index depth, Index cols) const {
    const bool worth_it =
        gpus_of(rt_).device(0).emulated() || worth_splitting(rt_.tuning().gpu.qr.splitting, rows, depth, cols);
    return worth_it ? g_.memory.large_products() : Multiplication::plain;
}

template <class T>
void GpuQrTasks<T>::submit_update(int k, const Part& part, const std::vector<Index>& tile_columns, Index col_begin,
                                  Index col_end, Multiplication how) {
    const Panel& p = panel(k);
    const auto device = static_cast<std::size_t>(part.gpu);
    const ScratchMatrix<T>& workspace =
        part.leading ? g_.buffers.leading_workspaces[device] : g_.buffers.rest_workspaces[device];
    AccessList data;
    data.read(panel_rows(k)).read(s_.t_of(k)).write(workspace.region());
    if (part.gate && part.leading) data.write(taken_out(*part.gate));
    if (part.gate && !part.leading) data.read(goes_alone(*part.gate) ? factored(*part.gate) : taken_out(*part.gate));
    const std::size_t first_column = data.records().size();
    for (const Index j : tile_columns) {
        const bool first = j == tile_columns.front();
        data.readwrite(matrix(j, p.first, first ? col_begin : 0, first ? col_end : tile_width()));
    }
    const GpuColumns<T> columns{rows(), tile_width(), col_begin, col_end};
    rt_.submit(
        {.name = part.leading ? TaskName("update leading") : TaskName("update"),
         .priority = part.leading ? urgent : after_urgent(k),
         .tile = {k, static_cast<int>(tile_columns.front())},
         .step = k,
         .place = Place::gpu(part.gpu)},
        data,
        on_any_device([=, v_region = panel_rows(k), t_region = s_.t_of(k)](Stream stream, const DatumAddresses& at) {
            const View<const T> v = read(v_region).view(at[0]), t = read(t_region).view(at[1]);
            columns.for_each_group(at.data() + first_column, at.size() - first_column, [&](TileColumns<T> group) {
                on_stream::reflect_columns<T>(stream, v, t, group.row_range(p.first, columns.rows - p.first),
                                              static_cast<T*>(at[2]), how);
            });
        }));
}

template void GpuQrTasks<float>::update_leading(int, int);
template void GpuQrTasks<float>::update_rest(int, const ColumnPlace&, std::optional<int>);
template void GpuQrTasks<double>::update_leading(int, int);
template void GpuQrTasks<double>::update_rest(int, const ColumnPlace&, std::optional<int>);

}  // namespace basalt::detail
