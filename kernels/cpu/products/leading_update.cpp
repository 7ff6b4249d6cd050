#include <vector>

#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/panel.hpp"
#include "kernels/on_stream/products.hpp"
#include "kernels/on_stream/rows.hpp"
#include "kernels/on_stream/triangle.hpp"

namespace basalt::on_stream {

template <class T>
bool run_on_cpu(LeadingUpdateFits<T>, View<const T> l, View<T> a) {
    return cuda_kernels::leading_shape_fits<T>(l, a);
}

/// Of any order and height.
template <class T>
void run_on_cpu(UpdateLeading<T>, View<const T> l, RowMoves moves, View<T> a) {
    const Index order = l.cols(), below = l.rows() - order;
    const TileColumns<T> columns = one_tile_column(a);
    std::vector<T> rows(static_cast<std::size_t>(order * a.cols()));
    const TileColumns<T> top = dense_tile_columns(rows.data(), 1, order, a.cols());
    exchange_rows<T>.on_cpu(moves, columns, top);
    const TileColumns<T> u = columns.row_range(0, order);
    solve_by_substitution<T>.on_cpu(l.block(0, 0, order, order), top, u);
    update_trailing<T>.on_cpu(l.block(order, 0, below, order), u, columns.row_range(order, below),
                              ProductPrecision::plain);
}

template <>
const LeadingUpdateFits<float>::Cpu Code<LeadingUpdateFits<float>>::cpu = cpu_code<LeadingUpdateFits<float>>;
template <>
const LeadingUpdateFits<double>::Cpu Code<LeadingUpdateFits<double>>::cpu = cpu_code<LeadingUpdateFits<double>>;
template <>
const UpdateLeading<float>::Cpu Code<UpdateLeading<float>>::cpu = cpu_code<UpdateLeading<float>>;
template <>
const UpdateLeading<double>::Cpu Code<UpdateLeading<double>>::cpu = cpu_code<UpdateLeading<double>>;

}  // namespace basalt::on_stream
