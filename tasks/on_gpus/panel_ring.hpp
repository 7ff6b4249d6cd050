#pragma once

#include <cstddef>
#include <vector>

#include "tasks/on_gpus/panel_geometry.hpp"
#include "tasks/on_gpus/scratch_layout.hpp"

namespace basalt::detail {

/// Buffers that column panels use in turn while they are on their way between matrix, cores and GPUs. A buffer has as
/// many rows as the matrix and as many columns as the widest panel; a panel's rows have their numbers in the matrix.
template <class T>
class PanelRing {
  public:
    /// The panels' buffers; all GPUs hold copies of them.
    static ScratchShape shape(Index slots, Index rows, Index widest, ScratchHome home) {
        return {.name = "panel", .rows = rows, .cols = widest, .count = slots, .on_a_gpu = slots, .home = home};
    }

    /// `buffers`: `slots` of them, or none where panels never leave the matrix; then slots are numbered nevertheless.
    PanelRing(const PanelGeometry& geometry, const std::vector<ScratchMatrix<T>>& buffers, Index slots)
        : geometry_(geometry), buffers_(&buffers), slots_(slots), slot_(geometry.panels().size()) {}

    /// From now on panel k is in the next slot, whose panel before it has returned to the matrix.
    void take(int k) { slot_[static_cast<std::size_t>(k)] = static_cast<std::size_t>(taken_++ % slots_); }
    std::size_t slot(int k) const { return slot_[static_cast<std::size_t>(k)]; }

    /// Rows of panel k in its buffer.
    Region<T> rows(int k, Index begin, Index end) const {
        return (*buffers_)[slot(k)].rows(begin, end, geometry_.panel(k).width);
    }
    /// From its first row on.
    Region<T> rows(int k) const { return rows(k, geometry_.panel(k).first, geometry_.rows()); }

  private:
    const PanelGeometry geometry_;
    const std::vector<ScratchMatrix<T>>* buffers_;
    const Index slots_;
    Index taken_ = 0;
    std::vector<std::size_t> slot_;  ///< by panel
};

}  // namespace basalt::detail
