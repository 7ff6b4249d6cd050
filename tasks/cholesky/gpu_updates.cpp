// Updates of Cholesky on GPUs, right- and left-looking.
#include <algorithm>
#include <optional>
#include <type_traits>

#include "kernels/on_stream.hpp"
#include "tasks/cholesky/gpu_tasks.hpp"

namespace basalt::detail {

namespace {

/// How products are made.
struct Multiplying {
    ProductPrecision products;
    void* slices;  ///< workspace for products by slices; nullptr: none are
};

/// C_i -= A_i B_i^T: small products together, large ones one by one (a fifth faster with cuBLAS at 4096 x 4096), and by
/// slices where there is a workspace for them and enough to do.
template <class T>
void subtract_products(Stream stream, const GpuTuning::Cholesky& tuning, Index count, Strided<const T> a,
                       Strided<const T> b, Strided<T> c, const Multiplying& multiplying) {
    const auto [products, slices] = multiplying;
    const ProductPrecision otherwise = without_conversion(products);
    const Index rows = a.first.rows(), width = b.first.rows(), depth = a.first.cols();
    const bool large = depth >= tuning.least_split_depth && std::min(rows, width) >= tuning.least_split_side;
    const bool by_slices = slices != nullptr && (large || on_stream::emulated(stream));
    if (!by_slices && rows * width < tuning.batched_below * tuning.batched_below) {
        return on_stream::subtract_transposed_products<T>(stream, count, a, b, c, otherwise);
    }
    for (Index i = 0; i < count; ++i) {
        if constexpr (std::is_same_v<T, float>) {
            if (by_slices) {
                on_stream::subtract_transposed_product_by_slices(stream, a[i], b[i], c[i], products, slices);
                continue;
            }
        }
        on_stream::subtract_transposed_products<T>(stream, 1, {a[i]}, {b[i]}, Strided<T>{c[i]}, otherwise);
    }
}

/// `count` products of a batch from number i on, by the columns L of former panels. `a`: the tile column of the first
/// product; those of the others are `column_stride` elements apart.
template <class T>
void subtract_batch(Stream stream, const GpuTuning::Cholesky& tuning, const ProductBatch& batch, Index i, Index count,
                    Index column_stride, View<const T> l, View<T> a, const Multiplying& multiplying) {
    const BlockProduct b = batch[i];
    subtract_products<T>(stream, tuning, count,
                         {l.block(b.row, 0, b.end - b.row, l.cols()), batch.rows_apart * l.row_stride()},
                         {l.block(b.first, 0, b.width, l.cols()), batch.firsts_apart * l.row_stride()},
                         {a.block(b.row, b.col, b.end - b.row, b.width),
                          column_stride + batch.cols_apart + batch.rows_apart * a.row_stride()},
                         multiplying);
}

/// Elements from each tile column of the batch to the next; the batch counts in the list `columns`. Nothing where they
/// are not equally far apart.
template <class T>
std::optional<Index> column_stride(const DatumAddresses& columns, const ProductBatch& batch) {
    if (batch.count < 2) return 0;
    const auto at = [&](Index i) { return static_cast<T*>(columns[static_cast<std::size_t>(batch.column_of(i))]); };
    for (Index i = 2; i < batch.count; ++i) {
        if (at(i) - at(i - 1) != at(1) - at(0)) return std::nullopt;
    }
    return at(1) - at(0);
}

}  // namespace

template <class T>
void GpuCholeskyTasks<T>::update(int k, PanelRange range, Urgency urgency) {
    const bool leading = urgency == Urgency::leading;
    if (range.empty()) return;
    for (int gpu = 0; gpu < geometry_.gpus(); ++gpu) {
        Update update = g_.upper ? upper_update(k, range, gpu) : lower_update(k, range, gpu);
        if (update.products.empty()) continue;
        const bool by_slices = !leading && g_.memory.by_slices();
        if (by_slices) update.data.write(g_.buffers.slices[static_cast<std::size_t>(gpu)].region());
        TaskOptions options = step_task(leading ? TaskName("update leading") : TaskName("update"), k, gpu,
                                        leading ? urgent : after_urgent(k));
        options.tile = {k, range.first};
        const Index offset = g_.in_place ? panel(k).col_begin : 0;
        rt_.submit(
            options, update.data,
            on_any_device([=, products = choices_.products, shape = layout(), depth = panel(k).width,
                           in_place = g_.in_place, tuning = &rt_.tuning().gpu.cholesky,
                           batches = std::move(update.products)](Stream stream, const DatumAddresses& at) {
                const Multiplying multiplying{products, by_slices ? at.back() : nullptr};
                const View<const T> l =
                    in_place ? shape.column(at[0]).block(0, offset, shape.rows, depth) : shape.panel(at[0], depth);
                const DatumAddresses columns(at.data() + 1, at.size() - 1);
                for (const ProductBatch& batch : batches) {
                    const std::optional<Index> stride = column_stride<T>(columns, batch);
                    const Index together = stride ? batch.count : 1;
                    for (Index i = 0; i < batch.count; i += together) {
                        const View<T> a = shape.column(columns[static_cast<std::size_t>(batch.column_of(i))]);
                        subtract_batch<T>(stream, *tuning, batch, i, together, stride.value_or(0), l, a, multiplying);
                    }
                }
            }));
    }
}

template <class T>
auto GpuCholeskyTasks<T>::lower_update(int k, PanelRange range, int gpu) const -> Update {
    Update update;
    std::vector<PanelRange> ranges;
    const Index last_column = panel(range.last - 1).tile_column;
    for (const Index j : geometry_.columns_of(gpu, panel(range.first).tile_column, last_column + 1)) {
        const PanelRange own = panels_in(j), columns{std::max(range.first, own.first), std::min(range.last, own.last)};
        const Panel &first = panel(columns.first), &last = panel(columns.last - 1);
        if (ranges.empty()) update.data.read(panel_rows(k, first.first));
        update.data.readwrite(g_.a->template region<T>(j, first.first, rows(), first.col_begin, last.col_end()));
        ranges.push_back(columns);
    }
    update.products = lower_batches(s_.panels, rows(), ranges);
    return update;
}

template <class T>
auto GpuCholeskyTasks<T>::upper_update(int k, PanelRange range, int gpu) const -> Update {
    Update update;
    std::vector<PanelRange> own_panels;
    const Panel& top = panel(range.first);
    for (const Index j : geometry_.columns_of(gpu, top.tile_column, grid().tile_cols())) {
        const PanelRange columns = panels_in(j);
        if (own_panels.empty()) update.data.read(panel_rows(k, top.first));
        const Index end = panel(std::min(range.last, columns.last) - 1).end();
        const Index col = j == top.tile_column ? top.col_begin : 0;
        update.data.readwrite(g_.a->template region<T>(j, top.first, end, col, grid().tile_width(j)));
        own_panels.push_back(columns);
    }
    update.products = upper_batches(s_.panels, range, own_panels);
    return update;
}

// --- left-looking ---

template <class T>
void GpuCholeskyTasks<T>::update_from_left(PanelRange target, PanelRange by) {
    if (by.empty()) return;
    if (g_.upper) {
        upper_from_left(target.first, by.last);
    } else {
        lower_from_left(target, by);
    }
}

template <class T>
double GpuCholeskyTasks<T>::multiplications(PanelRange target, PanelRange by) const {
    if (by.empty()) return 0;
    const Index first = panel(target.first).first, width = panel(target.last - 1).end() - first;
    const Index depth = panel(by.last - 1).end() - panel(by.first).first;
    return static_cast<double>(depth * width) * (static_cast<double>(rows() - first) - static_cast<double>(width) / 2);
}

/// Products for each tile column on the left, as deep as it has columns of those panels. Where the panels lie.
template <class T>
void GpuCholeskyTasks<T>::lower_from_left(PanelRange target, PanelRange by) {
    const Panel &t = panel(target.first), &begin = panel(by.first), &end = panel(by.last - 1);
    struct Columns {
        Index first, count;
    };
    AccessList data;
    std::vector<Columns> left;
    for (Index j = begin.tile_column; j <= end.tile_column; ++j) {
        const Index first = j == begin.tile_column ? begin.col_begin : 0;
        const Index last = j == end.tile_column ? end.col_end() : tile_width();
        left.push_back({first, last - first});
        data.read(g_.a->template region<T>(j, t.first, rows(), first, last));
    }
    data.readwrite(matrix(target));
    rt_.submit(
        step_task("update from left", target.first, owner(target.first)), data,
        on_any_device([left = std::move(left), shape = layout(), tuning = &rt_.tuning().gpu.cholesky,
                       products = lower_batches(s_.panels, rows(), {target})](Stream stream, const DatumAddresses& at) {
            const View<T> a = shape.column(at.back());
            for (std::size_t j = 0; j < left.size(); ++j) {
                const View<const T> l = shape.column(at[j]).block(0, left[j].first, shape.rows, left[j].count);
                for (const ProductBatch& batch : products) {
                    subtract_batch<T>(stream, *tuning, batch, 0, batch.count, 0, l, a,
                                      {ProductPrecision::plain, nullptr});
                }
            }
        }));
}

/// One product as deep as there are rows above the panel's, A(t, j) -= U(:last, t)^T U(:last, j), for all
/// tile columns of a GPU. U(:last, t) is transposed by the GPU that has it and sent to all.
template <class T>
void GpuCholeskyTasks<T>::upper_from_left(int target, int last) {
    const Panel& t = panel(target);
    const Index depth = panel(last - 1).end();
    const auto left = g_.buffers.lefts[static_cast<std::size_t>(target % 2)].rows(0, t.width * depth, 1);
    rt_.submit(step_task("take left", target, owner(target)), read(matrix(t, 0, depth)), write(left),
               on_any_device([](Stream stream, View<const T> u, View<T> to) {
                   on_stream::copy_window<T>(stream, transposed(u),
                                             View<T>::row_major(to.data(), u.cols(), u.rows(), u.rows()));
               }));
    rt_.broadcast(left);
    for (int gpu = 0; gpu < geometry_.gpus(); ++gpu) {
        AccessList data;
        data.read(left);
        GpuColumns<T> columns{rows(), tile_width(), 0, 0};
        std::vector<Region<T>> targets;
        for (const Index j : geometry_.columns_of(gpu, t.tile_column, grid().tile_cols())) {
            const Index begin = j == t.tile_column ? t.col_begin : 0;
            if (targets.empty()) columns.col_begin = begin;
            columns.col_end = grid().tile_width(j);
            data.read(g_.a->template region<T>(j, 0, depth, begin, columns.col_end));
            targets.push_back(g_.a->template region<T>(j, t.first, t.end(), begin, columns.col_end));
        }
        if (targets.empty()) continue;
        for (const Region<T>& region : targets) data.readwrite(region);
        rt_.submit(step_task("update from left", target, gpu), data,
                   on_any_device([t, depth, columns, count = targets.size()](Stream stream, const DatumAddresses& at) {
                       const auto l = View<const T>::row_major(static_cast<const T*>(at[0]), t.width, depth, depth);
                       columns.for_each_group(at.data() + 1, count, [&](TileColumns<T> group) {
                           on_stream::update_trailing<T>(stream, l, group.row_range(0, depth),
                                                         group.row_range(t.first, t.width), ProductPrecision::plain);
                       });
                   }));
    }
}

template void GpuCholeskyTasks<float>::update(int, PanelRange, Urgency);
template GpuCholeskyTasks<float>::Update GpuCholeskyTasks<float>::lower_update(int, PanelRange, int) const;
template GpuCholeskyTasks<float>::Update GpuCholeskyTasks<float>::upper_update(int, PanelRange, int) const;
template void GpuCholeskyTasks<float>::update_from_left(PanelRange, PanelRange);
template double GpuCholeskyTasks<float>::multiplications(PanelRange, PanelRange) const;
template void GpuCholeskyTasks<float>::lower_from_left(PanelRange, PanelRange);
template void GpuCholeskyTasks<float>::upper_from_left(int, int);
template void GpuCholeskyTasks<double>::update(int, PanelRange, Urgency);
template GpuCholeskyTasks<double>::Update GpuCholeskyTasks<double>::lower_update(int, PanelRange, int) const;
template GpuCholeskyTasks<double>::Update GpuCholeskyTasks<double>::upper_update(int, PanelRange, int) const;
template void GpuCholeskyTasks<double>::update_from_left(PanelRange, PanelRange);
template double GpuCholeskyTasks<double>::multiplications(PanelRange, PanelRange) const;
template void GpuCholeskyTasks<double>::lower_from_left(PanelRange, PanelRange);
template void GpuCholeskyTasks<double>::upper_from_left(int, int);

}  // namespace basalt::detail
