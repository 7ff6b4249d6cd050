#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "basalt/runtime.hpp"
#include "runtime/storage/matrix_storage.hpp"
#include "tasks/on_gpus/gpu_columns.hpp"
#include "tasks/on_gpus/panel_geometry.hpp"
#include "tiles/grid.hpp"

namespace basalt::detail {

/// How many tile columns of a matrix are on the GPUs at once, all GPUs counted.
struct FittingColumns {
    Index group;       ///< factored together: all tile columns, or a part of those that fit
    Index coming = 0;  ///< room for more of them: the first ones of the next group come while a group is factored
};

/// `workspace(columns)`: bytes that a GPU with `columns` tile columns needs in addition. `adopted`: the user's memory
/// that serves as the matrix's.
FittingColumns fitting_columns(Runtime& runtime, const TileGrid& grid, std::size_t element_size,
                               const std::function<std::size_t(Index)>& workspace,
                               const MatrixStorage::Adopted& adopted = {});

/// What a factorization does with a group of columns.
struct GroupSteps {
    std::function<void(const ColumnGroup&)> enter;   ///< the group's columns are on their way
    std::function<void(int k)> apply;                ///< panel k, left of the group, updates the group
    std::function<void(const ColumnGroup&)> factor;  ///< factors the group's own panels
};

/// The tile columns of a matrix on their way to the GPUs, and back to the host where the GPUs do not hold all of them.
/// They are factored in groups from the left. As columns of a group become final, columns of the next one take their
/// place.
class ColumnGroups {
  public:
    /// Pins the part of the matrix that is in the host's memory or will be.
    ColumnGroups(MatrixStorage& matrix, const FittingColumns& fitting);

    /// The loop over the groups. In each group, the panels on its left come first, in the order in which they were
    /// factored.
    void for_each(const PanelGeometry& geometry, const GroupSteps& steps);

    /// The tasks submitted from now on use no column of the present group left of that one, until all are factored.
    void final_before(Index column);

  private:
    const ColumnGroup& present() const { return groups_[present_]; }
    bool is_last() const { return present_ + 1 == groups_.size(); }
    /// All columns of that group come, as far as they have not.
    void enter(std::size_t number);
    /// The first columns of the next group begin to come.
    void expect_next();
    /// The priority of copies of columns. Panels of former groups are enqueued early on the same stream and wait there
    /// for their turn. A driver may hold copies of priority 0 back; columns would then come behind those panels.
    int priority() const { return groups_.size() > 1 ? 1 : 0; }
    void bring(Index column) const;
    void bring_next(int gpu);

    MatrixStorage& matrix_;
    const ColumnDeal deal_;
    const FittingColumns fitting_;
    std::vector<ColumnGroup> groups_;
    std::size_t present_ = 0;
    Index final_ = 0;  ///< the first column of the present group that is not final
    /// By GPU: columns of the next group that it has not asked for yet, the last one first.
    std::vector<std::vector<Index>> awaited_;
};

/// Bytes of a GPU's memory to plan with for `columns` tile columns and a workspace. Includes a little for rounding and
/// for small data.
std::size_t bytes_with_columns(const TileGrid& grid, std::size_t element_size, Index columns, std::size_t workspace);

/// Whether every GPU copies to and from every other one without the host.
bool gpus_reach_each_other(Runtime& runtime);

/// Multiprocessors of the GPU that has most of them; 0 where GPUs are emulated.
int most_multiprocessors(Runtime& runtime);

}  // namespace basalt::detail
