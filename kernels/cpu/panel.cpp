#include "kernels/cpu/panel.hpp"

#include <algorithm>
#include <new>

#include "kernels/cpu/panel_member.hpp"

namespace basalt {

namespace {

constexpr std::align_val_t page{4096};

template <class T>
constexpr Index cache_line = 64 / static_cast<Index>(sizeof(T));

}  // namespace

template <class T>
Index PanelWorkspace<T>::packed_ld(Index rows) {
    // an odd number of lines: the columns then spread over the sets of the caches
    return ((rows + cache_line<T> - 1) / cache_line<T> | 1) * cache_line<T>;
}

template <class T>
void PanelWorkspace<T>::Free::operator()(T* p) const {
    ::operator delete(p, page);
}

template <class T>
typename PanelWorkspace<T>::Buffer PanelWorkspace<T>::allocate(Index count) {
    return Buffer(static_cast<T*>(::operator new(static_cast<std::size_t>(count) * sizeof(T), page)));
}

template <class T>
PanelWorkspace<T>::PanelWorkspace(int members, Index rows, Index cols)
    : members_(members),
      rows_(rows),
      cols_(cols),
      exchange_(members),
      column_scratch_(allocate((rows + slice_padding * members) * max_block_cols)),
      packed_block_(allocate(std::min(rows, cols) * (cols + simd::kernels<T>().strip))) {}

template <class T>
Index panel_factor(Team& team, View<T> panel, Index* pivots, PanelWorkspace<T>& shared) {
    NoPanelClock clock;
    return factor_timed(team, panel, pivots, shared, clock);
}

template class PanelWorkspace<float>;
template class PanelWorkspace<double>;
template Index panel_factor(Team&, View<float>, Index*, PanelWorkspace<float>&);
template Index panel_factor(Team&, View<double>, Index*, PanelWorkspace<double>&);

}  // namespace basalt
