#pragma once

#include <vector>

#include "kernels/cpu/qr/tiles.hpp"
#include "tasks/qr/state.hpp"
#include "tiles/tile_reflections.hpp"

namespace basalt::detail {

/// One step, a panel, of tile QR.
template <class T>
struct TileQrStep {
    std::vector<TileReflection> reflections;
    Index inner;
    ScratchMatrix<T> r;  ///< the domains' triangles, width x width each; at the end V of kind triangle
    ScratchMatrix<T> t;  ///< inner x width for each reflection
};

/// What a factorization by tiles keeps in addition to the matrix.
template <class T>
struct TileQrState {
    TileQrState(QrState<T>& qr, const QrChoices& choices);

  private:
    HostBuffer memory_;

  public:
    std::vector<TileQrStep<T>> steps;  ///< by panel
};

/// Submits the QR factorization of QrMethod::tile.
template <class T>
void submit_qr_by_tiles(QrState<T>& state, const QrChoices& choices);

/// C = Q_k C or Q_k^T C, Q_k being step k's factor of Q, for columns [begin, end) of tile column j of C: a task for
/// each reflection.
template <class T>
void submit_tile_reflections(QrState<T>& state, int k, Reflection reflection, const MatrixStorage& c, Index j,
                             Index begin, Index end, int priority);

/// Step k's factor Q_k for a task that multiplies rows by it from the right. The task has a copy, since QrState's
/// destruction begins before it has waited for the task.
template <class T>
class StepFromRight {
  public:
    StepFromRight(const QrState<T>& state, int k);

    /// The data that the task reads: panel, triangles and T, in this order.
    const AccessList& data() const { return data_; }
    /// C = C Q_k or C Q_k^T for rows of C from the panel's first column on, with the addresses of the data.
    void multiply(Reflection reflection, const DatumAddresses& at, View<T> c) const;

  private:
    struct Placed {
        TileReflection reflection;
        Region<T> v, t;
    };
    void multiply(Reflection reflection, const Placed& placed, const DatumAddresses& at, View<T> c) const;

    AccessList data_;
    std::vector<Placed> placed_;
    Index first_, width_;
};

}  // namespace basalt::detail
