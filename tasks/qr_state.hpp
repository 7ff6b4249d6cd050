#pragma once

#include <memory>
#include <vector>

#include "basalt/qr.hpp"
#include "kernels/cpu/qr_panel.hpp"
#include "runtime/matrix_storage.hpp"
#include "runtime/memory/pinned_buffer.hpp"
#include "tasks/qr_options.hpp"
#include "tasks/scratch_matrix.hpp"
#include "tiles/panels.hpp"

namespace basalt::detail {

template <class T>
struct CpuQrState;
template <class T>
struct GpuQrState;

/// What a QR factorization needs while it runs, and its results. The tasks hold plain pointers to it: every one of them
/// accesses data below, whose destruction waits for them.
template <class T>
struct QrState {
    QrState(Runtime& runtime, std::shared_ptr<MatrixStorage> storage, const QrChoices& choices);

    const TileGrid& grid() const { return a->grid(); }
    Region<T> region(const Panel& panel, Index row_begin, Index row_end) const {
        return a->template region<T>(panel.tile_column, row_begin, row_end, panel.col_begin, panel.col_end());
    }
    /// T of panel k: width x width, upper triangular; its diagonal is tau.
    Region<T> t_of(int k) const {
        const Index width = panels[static_cast<std::size_t>(k)].width;
        return t[static_cast<std::size_t>(k)].rows(0, width, width);
    }

    Runtime& runtime;
    const std::vector<Panel> panels;
    const Index nb;  ///< widest panel
    std::shared_ptr<MatrixStorage> a;

  private:
    PinnedBuffer pinned_t_;  // where GPUs take part
    HostBuffer t_memory_;    // elsewhere

  public:
    std::vector<ScratchMatrix<T>> t;  ///< by panel
    // last: their tasks use what is above
    std::shared_ptr<CpuQrState<T>> on_cores;
    std::shared_ptr<GpuQrState<T>> on_gpus;
};

extern template struct QrState<float>;
extern template struct QrState<double>;

}  // namespace basalt::detail
