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

/// Parts of a tile column that are converted one by one, see GpuTuning::Conversion: some of its `lines` rows or
/// columns, each of that many elements.
class ConvertedParts {
  public:
    ConvertedParts(const MatrixStorage& storage, Index lines, Index elements, std::size_t element_size)
        : lines_(lines) {
        const GpuTuning::Conversion& conversion = storage.runtime().tuning().gpu.conversion;
        const std::size_t line_bytes = static_cast<std::size_t>(std::max<Index>(elements, 1)) * element_size;
        const auto least = static_cast<Index>(conversion.least_bytes / line_bytes);
        small_ = std::min(lines, whole_squares(std::max(least, lines / conversion.parts)));
    }

    bool single() const { return small_ == lines_; }
    /// visit(first, end) for the small part and the rest.
    template <class Visit>
    void arrive(const Visit& visit) const {
        visit(Index{0}, small_);
        if (small_ < lines_) visit(small_, lines_);
    }
    /// visit(first, end) for small parts.
    template <class Visit>
    void leave(const Visit& visit) const {
        for (Index first = 0; first < lines_; first += small_) visit(first, std::min(first + small_, lines_));
    }

  private:
    /// Kernels convert squares of 64 lines.
    static Index whole_squares(Index lines) { return std::max<Index>(ceil_div(lines, 64), 1) * 64; }

    Index lines_;
    Index small_;
};

}  // namespace basalt::detail
