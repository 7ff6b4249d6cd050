#pragma once

#include "kernels/cpu/qr/panel.hpp"

namespace basalt {

/// Whether a panel is tall enough for a tree.
bool is_tall_panel(const Team& team, Index m, Index k);

/// qr_panel_factor() for tall panels, as it is declared there: by a reduction tree. Each member factors stretches of
/// its rows that stay in its cache, then their triangles eight by eight; Q's columns come down the same way, and V and
/// T are reconstructed from them. Twice the operations, but every row is read from memory twice in all, and the members
/// meet four times. False, with nothing done, where an element is no number or so large or small that a column would
/// have to be scaled.
///
/// Ballard, Demmel, Grigori, Jacquelin, Knight, Nguyen, "Reconstructing Householder vectors from tall-skinny QR" (JPDC
/// 85, 2015).
template <class T>
bool qr_tree_factor(const Team& team, View<T> v, View<T> r, View<T> t, QrPanelWorkspace<T>& shared);

}  // namespace basalt
