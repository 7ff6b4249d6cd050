#include "kernels/cuda/panel/resident.hpp"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/cuda/panel/recursion.cuh"
#include "kernels/cuda/panel/resident_launch.cuh"
#include "kernels/cuda/panel/shape.hpp"
#include "kernels/cuda/panel/steps.hpp"
#include "kernels/on_stream/matrix.hpp"
#include "kernels/on_stream/products.hpp"
#include "kernels/on_stream/rows.hpp"

namespace basalt::cuda_detail {

using cuda_kernels::PanelDesign;
using cuda_kernels::PanelPlan;

namespace {

constexpr std::size_t alignment = 256;
constexpr std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }
constexpr std::size_t team_bytes =
    aligned(std::max(sizeof(GridTeam<double, 16>::Global), sizeof(GridTeam<float, 32>::Global)));
constexpr std::size_t result_bytes = aligned(sizeof(Index));
constexpr std::size_t moves_bytes = aligned(2 * resident_cols * sizeof(Index));

/// What a leaf found out becomes the panel's: pivots counted from its first row, the first INFO.
__global__ void take_over_kernel(Index* pivots, Index count, Index first, Index* info, const Index* leaf_info) {
    const auto k = static_cast<Index>(threadIdx.x);
    if (k < count) pivots[k] += first;
    if (k == 0 && *info == 0 && *leaf_info != 0) *info = first + *leaf_info;
}

/// A part of a wider panel.
template <class T>
struct ResidentLeaf {
    Stream stream;
    View<T> panel;
    Index* pivots;
    Index* info;
    char* workspace;
    PanelPlan plan;
    PanelLog log;
    int device;

    Index width(Index) const { return resident_cols; }

    void factor(Index first, Index cols) const {
        launch(panel.block(first, first, panel.rows() - first, cols), pivots + first, leaf_info(),
               RowMoves(moves(), cols));
        take_over_kernel<<<1, static_cast<unsigned>(cols), 0, native(stream)>>>(pivots + first, cols, first, info,
                                                                                leaf_info());
        check_launch("take_over_kernel", stream);
    }

    void interchange_outside(Index first, Index cols) const {
        interchange(first, cols, 0, first);
        interchange(first, cols, first + cols, panel.cols());
    }

    void launch(const View<T>& part, Index* part_pivots, Index* part_info, RowMoves part_moves) const {
        const PanelView<T> view{part.data(), static_cast<int>(part.row_stride()), static_cast<int>(part.rows()),
                                static_cast<int>(part.cols())};
        if (plan.design == PanelDesign::cluster) {
            launch_by<Clusters>(view, part_pivots, part_info, part_moves);
        } else {
            launch_by<Grids>(view, part_pivots, part_info, part_moves);
        }
    }

  private:
    Index* leaf_info() const { return reinterpret_cast<Index*>(workspace + team_bytes); }
    Index* moves() const { return reinterpret_cast<Index*>(workspace + team_bytes + result_bytes); }
    T* top_rows() const { return reinterpret_cast<T*>(workspace + team_bytes + result_bytes + moves_bytes); }

    template <class Kind>
    void launch_by(const PanelView<T>& part, Index* part_pivots, Index* part_info, RowMoves part_moves) const {
        if constexpr (sizeof(T) == sizeof(double)) {  // each kind takes its time to compile
            using Recording = ResidentPanel<T, Logged<Kind>>;
            if (log && Recording::fits(device, part.rows, plan)) {
                return Recording::launch(stream, device, part, part_pivots, part_info, part_moves, workspace, plan,
                                         log);
            }
        }
        ResidentPanel<T, Kind>::launch(stream, device, part, part_pivots, part_info, part_moves, workspace, plan);
    }

    void interchange(Index first, Index cols, Index begin, Index end) const {
        if (begin == end) return;
        const TileColumns<T> a = one_tile_column(panel.block(first, begin, panel.rows() - first, end - begin));
        const TileColumns<T> top = dense_tile_columns(top_rows(), 1, cols, a.width);
        on_stream::exchange_rows<T>(stream, RowMoves(moves(), cols), a, top);
        on_stream::copy_tile_columns<T>(stream, top, a.row_range(0, cols));
    }
};

/// C -= A B between two halves of a panel.
template <class T>
void subtract_product(Stream stream, const on_stream::PanelProducts& products, View<const T> a, View<const T> b,
                      View<T> c) {
    if constexpr (std::is_same_v<T, float>) {
        if (has_slices(products.precision) && worth_splitting(products.splitting, a.rows(), a.cols(), b.cols())) {
            return on_stream::update_by_slices(stream, a, one_tile_column(b), one_tile_column(c), products.precision,
                                               products.workspace, {});
        }
    }
    subtract_plain_product<T>(stream, a, b, c);
}

}  // namespace

template <class T>
bool resident_fits(int device, Index rows, PanelPlan plan) {
    return plan.design == PanelDesign::cluster ? ResidentPanel<T, Clusters>::fits(device, rows, plan)
                                               : ResidentPanel<T, Grids>::fits(device, rows, plan);
}

std::size_t resident_workspace(Index cols) {
    const auto beside = static_cast<std::size_t>(std::max<Index>(cols - 1, 0) * std::min(cols, resident_cols));
    return team_bytes + result_bytes + moves_bytes + beside * sizeof(double);
}

template <class T>
void factor_resident(Stream stream, View<T> panel, Index* pivots, Index* info, void* workspace, PanelPlan plan,
                     const on_stream::PanelProducts& products, PanelLog log, RowMoves moves) {
    int device = 0;
    check(cudaGetDevice(&device), "cudaGetDevice", stream);
    assert(panel.row_stride() <= std::numeric_limits<int>::max() && panel.rows() <= std::numeric_limits<int>::max());
    // the kernel fetches 16 bytes at a time
    const bool aligned = reinterpret_cast<std::uintptr_t>(panel.data()) % 16 == 0 &&
                         panel.row_stride() * static_cast<Index>(sizeof(T)) % 16 == 0;
    const ResidentLeaf<T> leaf{stream, panel, pivots, info, static_cast<char*>(workspace), plan, log, device};
    if (aligned && panel.cols() <= resident_cols) return leaf.launch(panel, pivots, info, moves);  // writes all of it
    clear(stream, info);
    if (aligned) {
        factor_recursively<T>(stream, panel, leaf, [&](View<const T> a, View<const T> b, View<T> c) {
            subtract_product<T>(stream, products, a, b, c);
        });
    } else {
        factor_by_steps<T>(stream, panel, pivots, info, workspace, 0);
    }
    on_stream::find_row_moves(stream, pivots, moves);
}

template bool resident_fits<float>(int, Index, PanelPlan);
template bool resident_fits<double>(int, Index, PanelPlan);
template void factor_resident(Stream, View<float>, Index*, Index*, void*, PanelPlan, const on_stream::PanelProducts&,
                              PanelLog, RowMoves);
template void factor_resident(Stream, View<double>, Index*, Index*, void*, PanelPlan, const on_stream::PanelProducts&,
                              PanelLog, RowMoves);

}  // namespace basalt::cuda_detail
