#include "tasks/lu/state.hpp"

#include <algorithm>

#include "kernels/cpu/products/gemm.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "runtime/memory/host_pool.hpp"

namespace basalt::detail {

template <class T>
LuState<T>::LuState(Runtime& runtime, std::shared_ptr<MatrixStorage> storage, LuMode mode, PanelWidths widths,
                    CoreDepth depth, int panel_threads)
    : runtime(runtime),
      panels(cut_panels(storage->grid(), widths)),
      workspace(mode == LuMode::gpu ? PanelWorkspace<T>(1, 0, 0)
                                    : PanelWorkspace<T>(panel_threads, storage->grid().rows(),
                                                        std::min(widths.width, storage->grid().shape().width))),
      pivot_numbers(static_cast<std::size_t>(std::min(storage->grid().rows(), storage->grid().cols()))),
      panel_info(panels.size()),
      a(std::move(storage)),
      pivots(Array<Index>::wrap(runtime, pivot_numbers.data(), static_cast<Index>(pivot_numbers.size()), "pivots")) {
    if (mode != LuMode::cpu) return;
    blocks = cut_deep_blocks(panels, depth.columns, depth.left_a_column, grid().cols());
    Index deepest = std::min(widths.width, grid().shape().width);
    for (const PanelBlock& block : blocks) {
        deepest = std::max(deepest, panel(block.last - 1).end() - panel(block.first).first);
    }
    constexpr Index cache_line = 64 / sizeof(T);
    packed_size_ = (basalt::packed_size<T>(deepest, grid().shape().width) + cache_line - 1) / cache_line * cache_line;
    packed_slab =
        PooledBuffer(workspaces(runtime), static_cast<std::size_t>(packed_size_ * grid().tile_cols()) * sizeof(T));
    for (Index j = 0; j < grid().tile_cols(); ++j) {
        packed.emplace_back(create_datum(runtime, packed_block(j), sizeof(T), 1, 1, Storage::pinned, "packed U"));
    }
}

template <class T>
const RowPermutation& LuState<T>::permutation() {
    std::call_once(permutation_made_, [this] {
        std::vector<Interchanges> lists;
        for (const Panel& p : panels) lists.push_back({p.first, pivot_numbers.data() + p.first, p.width});
        permutation_ = RowPermutation(grid().rows(), lists);
    });
    return permutation_;
}

template <class T>
T* LuState<T>::packed_block(Index tile_column) const {
    return static_cast<T*>(packed_slab.data()) + tile_column * packed_size_;
}

template <class T>
Region<T> LuState<T>::packed_region(Index tile_column) const {
    const DatumHandle& datum = packed[static_cast<std::size_t>(tile_column)];
    return {datum.get(), datum.generation(), 0, 1, 0, 1, 0, packed_size_, 1, 1, packed_size_};
}

template <class T>
View<T> LuState<T>::view(Index tile_column, Index row_begin, Index row_end, Index col_begin, Index col_end) const {
    const Index width = grid().shape().width;
    return View<T>::row_major(static_cast<T*>(a->column(tile_column)) + row_begin * width + col_begin,
                              row_end - row_begin, col_end - col_begin, width);
}

template struct LuState<float>;
template struct LuState<double>;

}  // namespace basalt::detail
