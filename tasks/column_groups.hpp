#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "basalt/runtime.hpp"
#include "runtime/matrix_storage.hpp"
#include "tasks/gpu_columns.hpp"
#include "tiles/grid.hpp"

namespace basalt::detail {

/// `columns` tile columns in groups of `group_columns`, the last one perhaps smaller.
std::vector<ColumnGroup> cut_column_groups(Index columns, Index group_columns);

/// Tile columns, over all GPUs, that fit at once: all, or half of what fits, so that the next ones arrive meanwhile.
/// `workspace(columns)`: bytes that a GPU with so many of them needs beside. `adopted`: the matrix's memory that is the
/// user's.
Index fitting_columns(Runtime& runtime, const TileGrid& grid, std::size_t element_size,
                      const std::function<std::size_t(Index)>& workspace, const MatrixStorage::Adopted& adopted = {});

/// Bytes to be planned with for data of so many: a little for rounding and small data included.
std::size_t with_small_data(std::size_t bytes);

/// Whether every GPU can copy to and from every other one without the host.
bool gpus_reach_each_other(Runtime& runtime);

}  // namespace basalt::detail
