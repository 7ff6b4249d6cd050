#include "kernels/cpu/leading_update.hpp"

#include <vector>

#include "kernels/cpu/row_exchange.hpp"
#include "kernels/cpu/update.hpp"

namespace basalt::cpu_kernels {

template <class T>
void update_leading(std::type_identity_t<View<const T>> l, RowMoves moves, View<T> a) {
    const Index order = l.cols(), below = l.rows() - order;
    const TileColumns<T> columns = one_tile_column(a);
    std::vector<T> rows(static_cast<std::size_t>(order * a.cols()));
    const TileColumns<T> top = dense_tile_columns(rows.data(), 1, order, a.cols());
    exchange_rows<T>(moves, columns, top);
    const TileColumns<T> u = columns.row_range(0, order);
    solve_by_substitution<T>(l.block(0, 0, order, order), top, u);
    update_trailing<T>(l.block(order, 0, below, order), u, columns.row_range(order, below));
}

template void update_leading<float>(View<const float>, RowMoves, View<float>);
template void update_leading<double>(View<const double>, RowMoves, View<double>);

}  // namespace basalt::cpu_kernels
