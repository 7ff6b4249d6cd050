#pragma once

namespace basalt {

/// What a member of a panel's gang is busy with.
enum class PanelPhase {
    load,       ///< a block of columns updated and brought into scratch
    leaf,       ///< columns of a leaf brought up to date and searched
    announce,   ///< the candidate and its row made known
    delayed,    ///< work put off until the others' announcements are on their way
    exchange,   ///< waiting for the others' announcements
    pivot_row,  ///< reading and updating the pivot's row
    store,      ///< a finished block back into the panel
    swap,       ///< interchanges outside the block
    solve,      ///< the block row of U
    barrier,    ///< waiting for the gang
    count
};

/// The clock of a panel that is not timed.
struct NoPanelClock {
    void enter(PanelPhase) {}
};

}  // namespace basalt
