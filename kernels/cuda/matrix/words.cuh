#pragma once

#include <cstdint>
#include <type_traits>

#include "tiles/tile_columns.hpp"

/// Kernels that only move elements move words: 16 bytes at a time where addresses and strides allow, else one
/// element.
namespace basalt::cuda_detail {

template <class T>
using ElementWord = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// A group of tile columns in units of a word.
template <class Word, class T>
TileColumns<Word> in_words(const TileColumns<T>& a) {
    constexpr Index ratio = sizeof(Word) / sizeof(T);
    return {reinterpret_cast<Word*>(const_cast<std::remove_const_t<T>*>(a.data)),
            a.columns,
            a.stride / ratio,
            a.rows,
            a.width / ratio,
            a.ld / ratio};
}

template <class T>
bool fits_wide_words(const TileColumns<T>& a) {
    constexpr Index ratio = sizeof(uint4) / sizeof(T);
    return reinterpret_cast<std::uintptr_t>(a.data) % sizeof(uint4) == 0 && a.stride % ratio == 0 &&
           a.ld % ratio == 0 && a.width % ratio == 0;
}

}  // namespace basalt::cuda_detail
