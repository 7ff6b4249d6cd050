#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/on_stream.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "runtime/storage/matrix_storage.hpp"

namespace basalt::detail {

/// Declares all of tile column j to be written on a GPU. Otherwise its old contents would be copied there for tasks
/// that write parts of it. And tile columns that are all claimed before other data take memory lie at constant stride.
template <class T>
void claim_tile_column(const MatrixStorage& storage, Index j, Place gpu) {
    const TileGrid& grid = storage.grid();
    storage.runtime().submit({.name = "claim", .tile = {static_cast<int>(j)}, .place = gpu},
                             write(storage.region<T>(j, 0, grid.padded_rows(), 0, grid.shape().width)),
                             on_any_device([](Stream, View<T>) {}));
}

/// Parts of a tile column that tasks convert one by one, see GpuTuning::Conversion: some of `lines` rows or columns
/// each of that many elements.
class ConvertedParts {
  public:
    ConvertedParts(const MatrixStorage& storage, Index lines, Index elements, std::size_t element_size)
        : lines_(lines) {
        const GpuTuning::Conversion& conversion = storage.runtime().tuning().gpu.conversion;
        const std::size_t line_bytes = static_cast<std::size_t>(std::max<Index>(elements, 1)) * element_size;
        const auto by_size = static_cast<Index>(conversion.part_bytes / line_bytes);
        const Index wanted = std::max({by_size, ceil_div(lines, conversion.most_parts), Index{1}});
        each_ = ceil_div(wanted, whole) * whole;
    }

    bool single() const { return lines_ <= each_; }
    /// visit(first, end)
    template <class Visit>
    void for_each(const Visit& visit) const {
        for (Index first = 0; first < lines_; first += each_) visit(first, std::min(first + each_, lines_));
    }

  private:
    static constexpr Index whole = 64;  ///< kernels convert squares of that side

    Index lines_;
    Index each_ = whole;
};

}  // namespace basalt::detail
