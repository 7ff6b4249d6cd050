#pragma once

#include <algorithm>
#include <cstddef>

#include "tasks/lu_options.hpp"
#include "tiles/grid.hpp"

namespace basalt::detail {

/// What a factorization in the modes hybrid and gpu takes of one GPU's memory.
class GpuLuMemory {
  public:
    /// `emulated`: panels on the device are the CPU's, which have memory of their own.
    GpuLuMemory(const TileGrid& grid, std::size_t element_size, const LuChoices& choices, bool emulated);

    Index panel_width() const { return nb_; }
    /// Of a block of panels, where there are two levels of blocking; 0 where there is one.
    Index block_width() const { return block_; }
    /// Of the products of a step.
    Index deepest() const { return std::max(nb_, block_); }
    /// Panels on their way at once.
    Index panel_slots() const { return slots_; }
    /// Of the workspace of a panel that a GPU factors.
    Index panel_numbers() const { return panel_numbers_; }
    /// Of the workspace for the products of a step in so many columns, where they may be by pieces.
    Index pieces_numbers(Index cols) const;

    /// Bytes that it takes beside its tile columns, of which it has `columns` at a time.
    std::size_t workspace(Index columns) const;

  private:
    Index rows_, width_;
    std::size_t element_size_;
    Index nb_, block_;
    Index panels_;
    Index inverted_rows_;  ///< of the inverses of panels that cores factor
    Index slots_, panel_numbers_;
    bool by_pieces_;
};

/// LuOptions::coarse_width where it is left to the library: by the tuning table, or 0 where the matrix and all that
/// this takes need more than half of the GPU's memory, whatever else is there at the moment.
Index chosen_coarse_width(const Runtime& runtime, const TileGrid& grid, std::size_t element_size,
                          const LuChoices& choices);

}  // namespace basalt::detail
