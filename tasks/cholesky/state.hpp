#pragma once

#include <memory>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/cholesky.hpp"
#include "runtime/storage/matrix_storage.hpp"
#include "tasks/on_gpus/host_blocks.hpp"
#include "tiles/panels.hpp"

namespace basalt::detail {

template <class T>
class DiagonalInverses;

/// What a Cholesky factorization needs while it runs, and its result. The tasks hold plain pointers to it: every one of
/// them accesses data below, whose destruction waits for them.
template <class T>
struct CholeskyState {
    CholeskyState(Runtime& runtime, std::shared_ptr<MatrixStorage> storage, Triangle triangle, PanelWidths widths);

    const TileGrid& grid() const { return a->grid(); }
    Index order() const { return grid().rows(); }
    /// Rows [row_begin, row_end) of the columns of a panel.
    Region<T> region(const Panel& panel, Index row_begin, Index row_end) const {
        return a->template region<T>(panel.tile_column, row_begin, row_end, panel.col_begin, panel.col_end());
    }
    /// Where the rows of one panel and the columns of another meet.
    Region<T> block(const Panel& rows, const Panel& cols) const { return region(cols, rows.first, rows.end()); }

    Runtime& runtime;
    const Triangle triangle;
    std::vector<Panel> panels;  ///< rows are cut as columns are
    Index panels_on_gpus = 0;   ///< panels that GPUs factor
    Index info_value = 0;

    std::shared_ptr<MatrixStorage> a;
    Array<Index> info;                                    ///< wraps info_value
    std::shared_ptr<const DiagonalInverses<T>> inverses;  ///< see cholesky_prepare_solves()
    std::shared_ptr<void> workspace;                      ///< last: its tasks use what is above
};

extern template struct CholeskyState<float>;
extern template struct CholeskyState<double>;

}  // namespace basalt::detail
