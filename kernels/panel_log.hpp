#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

/// The record of what each thread block of a panel kernel was busy with, and when: Abdelfattah et al., "Analysis and
/// Design Techniques towards High-Performance and Energy-Efficient Dense Linear Solvers on GPUs", section 6.5.3,
/// figure 8.
namespace basalt {

enum class PanelState : std::int64_t {
    load,       ///< columns brought on chip
    eliminate,  ///< columns scaled and updated, the next pivot searched for
    search,     ///< for the pivot alone
    scale,      ///< the column alone
    update,     ///< of the columns right of it alone
    meet,       ///< waiting for the other blocks' candidates, or for the pivot
    store,      ///< finished columns written
    move,       ///< rows exchanged
    triangle,   ///< a block row of U solved for
    product,    ///< L U subtracted
    barrier,    ///< waiting for all blocks
    count
};
/// As traces call it.
const char* name_of(PanelState state);

/// A state begins (state >= 0), or a pair of clock and timer was read (state < 0): then the device's timer was at
/// ~state nanoseconds. Clocks tick evenly between two such readings, one at each end of a kernel.
struct PanelLogEntry {
    std::int64_t clock;
    std::int64_t state;
};

/// Where the blocks of panel kernels write, one after the other in `memory`: for each block an entry that counts (its
/// entries so far, and those that found no room), then room for `capacity` more. Kernels that follow each other on a
/// stream append. Copyable; does not own the memory. Without memory nothing is recorded.
struct PanelLog {
    PanelLogEntry* memory = nullptr;
    int blocks = 0;    ///< further ones are not recorded
    int capacity = 0;  ///< entries a block

    constexpr explicit operator bool() const { return memory != nullptr; }
    constexpr PanelLogEntry* of_block(int block) const {
        return memory + static_cast<std::int64_t>(block) * (capacity + 1);
    }
    constexpr std::size_t bytes() const {
        return sizeof(PanelLogEntry) * static_cast<std::size_t>(blocks) * static_cast<std::size_t>(capacity + 1);
    }
    /// Entries that suffice for a panel of `cols` columns, of any design.
    static constexpr int enough_for(std::int64_t cols) { return static_cast<int>(8 * cols + 64); }
};

/// A state from its begin to the next one's, by the device's timer.
struct PanelLogSpan {
    int block;
    PanelState state;
    std::int64_t begin_ns;
    std::int64_t end_ns;
};

/// What a log in the host's memory says, block by block.
std::vector<PanelLogSpan> spans_of(const PanelLog& log);
/// Entries that found no room.
std::int64_t lost_entries(const PanelLog& log);

}  // namespace basalt
