#include "kernels/cpu/panel/workspace.hpp"

#include <algorithm>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "kernels/cpu/simd/kernels.hpp"

namespace basalt {

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t huge_page = std::size_t{2} << 20;

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
    ::operator delete(p, alignment);
}

template <class T>
typename PanelWorkspace<T>::Buffer PanelWorkspace<T>::allocate(Index count) {
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    const std::align_val_t alignment{bytes >= huge_page ? huge_page : page};
    Buffer buffer(static_cast<T*>(::operator new(bytes, alignment)), Free{alignment});
#if defined(__linux__)
    if (bytes >= huge_page) madvise(buffer.get(), bytes, MADV_HUGEPAGE);  // a hint: 3 % where columns are tall
#endif
    return buffer;
}

template <class T>
PanelWorkspace<T>::PanelWorkspace(int members, Index rows, Index cols)
    : members_(members),
      rows_(rows),
      cols_(cols),
      exchange_(members),
      column_scratch_(allocate((rows + slice_padding * members) * block_cols())),
      packed_block_(allocate(std::min(rows, cols) * (cols + simd::kernels<T>().strip))) {}

template class PanelWorkspace<float>;
template class PanelWorkspace<double>;

}  // namespace basalt
