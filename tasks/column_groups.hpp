#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "basalt/runtime.hpp"
#include "runtime/matrix_storage.hpp"
#include "tasks/gpu_columns.hpp"
#include "tiles/grid.hpp"

namespace basalt::detail {

/// How many tile columns of a matrix are on the GPUs at once, all GPUs counted.
struct FittingColumns {
    Index group;       ///< that are factored together: all, or a part of those that fit
    Index coming = 0;  ///< for which there is room beside them: the next group's first ones come meanwhile
};

/// `workspace(columns)`: bytes that a GPU with so many of them needs beside. `adopted`: the matrix's memory that is the
/// user's.
FittingColumns fitting_columns(Runtime& runtime, const TileGrid& grid, std::size_t element_size,
                               const std::function<std::size_t(Index)>& workspace,
                               const MatrixStorage::Adopted& adopted = {});

/// The tile columns of a matrix on their way to the GPUs, and home again where these do not hold all: they are factored
/// in groups from the left, and the columns of a group take the place of the former one's as those become final.
class ColumnGroups {
  public:
    /// Pins what of the matrix is in the host's memory, or will be.
    ColumnGroups(MatrixStorage& matrix, const FittingColumns& fitting);

    std::size_t count() const { return groups_.size(); }
    const ColumnGroup& operator[](std::size_t number) const { return groups_[number]; }

    /// All columns of that group come, as far as they have not.
    void enter(std::size_t number);
    /// Those of the next one begin to come.
    void expect_next();
    /// What is submitted from now on uses no column of the present group left of that one, until all are factored.
    void final_before(Index column);

  private:
    const ColumnGroup& present() const { return groups_[present_]; }
    bool is_last() const { return present_ + 1 == groups_.size(); }
    /// Of copies of columns. Panels of former groups are enqueued on the same stream early, to wait there for their
    /// turn: columns that a driver held back, as it does with copies of priority 0, would come behind them.
    int priority() const { return groups_.size() > 1 ? 1 : 0; }
    void bring(Index column) const;
    void bring_next(int gpu);

    MatrixStorage& matrix_;
    const ColumnDeal deal_;
    const FittingColumns fitting_;
    std::vector<ColumnGroup> groups_;
    std::size_t present_ = 0;
    Index final_ = 0;  ///< where the present group's columns begin that are not final
    /// By GPU: columns of the next group that it has not asked for, the last one first.
    std::vector<std::vector<Index>> awaited_;
};

/// Bytes of a GPU's memory to be planned with for so many tile columns and a workspace of so many bytes: a little for
/// rounding and small data included.
std::size_t bytes_with_columns(const TileGrid& grid, std::size_t element_size, Index columns, std::size_t workspace);

/// Whether every GPU can copy to and from every other one without the host.
bool gpus_reach_each_other(Runtime& runtime);

/// Of the GPU that has most of them; 0 where they are emulated.
int most_multiprocessors(Runtime& runtime);

}  // namespace basalt::detail
