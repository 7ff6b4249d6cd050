#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "basalt/qr.hpp"
#include "kernels/cpu/qr/panel.hpp"
#include "runtime/storage/matrix_storage.hpp"
#include "tasks/choices/step_priorities.hpp"
#include "tasks/on_gpus/scratch_layout.hpp"
#include "tasks/qr/options.hpp"
#include "tiles/panels.hpp"

namespace basalt::detail {

template <class T>
struct CpuQrState;
template <class T>
struct GpuQrState;
template <class T>
struct GpuReflections;
template <class T>
struct TileQrState;

/// What a QR factorization needs while it runs, and its results. The tasks hold plain pointers to it: every one of them
/// accesses data below, whose destruction waits for them.
template <class T>
struct QrState {
    QrState(Runtime& runtime, std::shared_ptr<MatrixStorage> storage, const QrChoices& choices);

    const TileGrid& grid() const { return a->grid(); }
    Region<T> region(const Panel& panel, Index row_begin, Index row_end) const {
        return a->template region<T>(panel.tile_column, row_begin, row_end, panel.col_begin, panel.col_end());
    }
    /// visit(tile column, first column of it, end, panels from k to them): the columns of each later panel, and those
    /// that no panel will have.
    template <class F>
    void for_each_trailing(int k, const F& visit) const {
        const int steps = static_cast<int>(panels.size());
        for (int next = k + 1; next < steps; ++next) {
            const Panel& p = panels[static_cast<std::size_t>(next)];
            visit(p.tile_column, p.col_begin, p.col_end(), next - k);
        }
        const Panel& last = panels.back();
        for (Index j = last.tile_column; j < grid().tile_cols(); ++j) {
            const Index begin = j == last.tile_column ? last.col_end() : 0;
            if (begin < grid().tile_width(j)) visit(j, begin, grid().tile_width(j), steps);
        }
    }
    /// T of panel k: width x width, upper triangular; its diagonal is tau.
    Region<T> t_of(int k) const { return t[static_cast<std::size_t>(k)].region(); }
    /// Bytes of one GPU's memory that all T take.
    std::size_t t_bytes() const { return t_bytes_; }

    Runtime& runtime;
    const std::vector<Panel> panels;
    const Index nb;            ///< widest panel
    Index panels_on_gpus = 0;  ///< panels that GPUs factor
    std::shared_ptr<MatrixStorage> a;

  private:
    std::size_t t_bytes_ = 0;
    ScratchMemory t_memory_;

  public:
    std::vector<ScratchMatrix<T>> t;  ///< by panel; none with QrMethod::tile
    // last: their tasks use what is above
    std::shared_ptr<CpuQrState<T>> on_cores;
    std::shared_ptr<GpuQrState<T>> on_gpus;
    std::shared_ptr<TileQrState<T>> by_tiles;  ///< QrMethod::tile alone
    std::once_flag reflections_made;
    std::shared_ptr<GpuReflections<T>> reflections_on_gpus;  ///< made when GPUs first apply Q
};

extern template struct QrState<float>;
extern template struct QrState<double>;

}  // namespace basalt::detail
