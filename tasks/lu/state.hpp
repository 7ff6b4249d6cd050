#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/lu.hpp"
#include "basalt/tuning.hpp"
#include "kernels/cpu/panel/panel.hpp"
#include "kernels/cpu/rows/row_swap.hpp"
#include "runtime/memory/host_pool.hpp"
#include "runtime/storage/matrix_storage.hpp"
#include "tiles/panels.hpp"

namespace basalt::detail {

template <class T>
struct GpuLuState;
template <class T>
class DiagonalInverses;

/// For solutions on GPUs.
template <class T>
struct LuInverses {
    std::shared_ptr<const DiagonalInverses<T>> lower, upper;
};

/// What a factorization needs while it runs, and its results. The tasks hold plain pointers to it: every one of
/// them accesses data below, whose destruction waits for them.
template <class T>
struct LuState {
    /// What only cores need is there where they take part: for panels in every mode but gpu, for updates in mode cpu.
    LuState(Runtime& runtime, std::shared_ptr<MatrixStorage> storage, LuMode mode, PanelWidths widths, CoreDepth depth,
            int panel_threads);

    const TileGrid& grid() const { return a->grid(); }
    View<T> view(Index tile_column, Index row_begin, Index row_end, Index col_begin, Index col_end) const;
    Region<T> region(const Panel& panel, Index row_begin, Index row_end) const {
        return a->template region<T>(panel.tile_column, row_begin, row_end, panel.col_begin, panel.col_end());
    }
    Region<Index> pivots_of(const Panel& panel) const { return pivots.rows(panel.first, panel.end()); }
    const Panel& panel(int k) const { return panels[static_cast<std::size_t>(k)]; }

    Runtime& runtime;
    std::vector<Panel> panels;
    std::vector<PanelBlock> blocks;  ///< mode cpu: panels whose updates are made together
    PanelWorkspace<T> workspace;
    std::vector<Index> pivot_numbers;  ///< counted from 0, from the panel's first row
    std::vector<Index> panel_info;
    bool left_interchanges = true;               ///< whether L is in LAPACK's arrangement
    bool adopted = false;                        ///< the factors are another library's, and panel_info is not known
    Index panels_on_gpus = 0;                    ///< panels that GPUs factor
    std::function<void(const Panel&)> factored;  ///< see lu_factor_observed(); may be empty
    PooledBuffer packed_slab;                    ///< for each tile column, room for the packed rows of U of a block

  private:
    Index packed_size_ = 0;
    std::once_flag permutation_made_;
    RowPermutation permutation_;

    // Last, since their destruction waits for the tasks that use what is above.
  public:
    std::shared_ptr<MatrixStorage> a;
    Array<Index> pivots;                     ///< wraps pivot_numbers; stands for panel_info too
    std::vector<DatumHandle> packed;         ///< one a tile column
    LuInverses<T> inverses;                  ///< see lu_prepare_solves()
    std::shared_ptr<GpuLuState<T>> on_gpus;  ///< last: its tasks use what is above

    T* packed_block(Index tile_column) const;
    /// The interchanges of all panels, composed when a task asks for the first time. For tasks that read `pivots`;
    /// several may ask at the same time.
    const RowPermutation& permutation();
    Region<T> packed_region(Index tile_column) const;
    Index packed_size() const { return packed_size_; }
};

extern template struct LuState<float>;
extern template struct LuState<double>;

}  // namespace basalt::detail
