#pragma once

#include <cstddef>
#include <cstdint>

#include <basalt/view.hpp>

#include "kernels/cuda/batch/pivot_search.hpp"
#include "kernels/cuda/batch/tile_rows.hpp"

/// What a block and its threads have of a matrix while lu_tiles.hpp factors it.
namespace basalt::cuda_detail::batch {

/// Shared memory of a block.
template <class T>
struct LuTileMemory {
    static constexpr int tile = tile_columns<T>, tiles = 4, width = tiles * tile;

    SharedRows<T, width> upper;  ///< of the panel, in the order of pivots
    T* columns;                  ///< of the warps
    T* squares;  ///< L on the diagonal, a tile each, column-major; of finished panels in double precision its inverse
    PivotCandidate<T>* candidates;
    int* pivots;            ///< of steps, from 0
    int* places;            ///< of rows
    int* counts;            ///< unfinished rows of warps
    std::uint16_t* stored;  ///< the row of A where a panel has a row
    int order;              ///< padded to a warp

    BASALT_DEVICE static constexpr int padded(int n) { return (n + lanes - 1) / lanes * lanes; }
    BASALT_DEVICE static constexpr int elements(int order) {
        return SharedRows<T, width>::elements(order) + order / lanes * WarpColumns<T>::elements + order * tile;
    }
    static std::size_t bytes(int n) {
        const int order = padded(n), panels = (n + width - 1) / width, numbers = 2 * order + most_block_warps;
        return (static_cast<std::size_t>(elements(order)) * sizeof(T) + pivot_candidates * sizeof(PivotCandidate<T>) +
                static_cast<std::size_t>(numbers) * sizeof(int) +
                static_cast<std::size_t>(panels * order) * sizeof(std::uint16_t) + 15) /
               16 * 16;
    }
    BASALT_DEVICE LuTileMemory(void* raw, int n) : upper{static_cast<T*>(raw)}, order(padded(n)) {
        columns = upper.data + SharedRows<T, width>::elements(order);
        squares = columns + order / lanes * WarpColumns<T>::elements;
        candidates = reinterpret_cast<PivotCandidate<T>*>(squares + order * tile);
        pivots = reinterpret_cast<int*>(candidates + pivot_candidates);
        places = pivots + order;
        counts = places + order;
        stored = reinterpret_cast<std::uint16_t*>(counts + most_block_warps);
    }
    BASALT_DEVICE WarpColumns<T> columns_of(int warp) const { return {columns + warp * WarpColumns<T>::elements}; }
};

/// A thread's own row, and what a lane has of its four rows.
template <class T>
struct LuTileRows {
    int number, place;  ///< of the own row
    int first;          ///< row of the lane
    unsigned turns;     ///< by which tile of pivots its rows are finished, a byte each
    T c[lane_rows][LuTileMemory<T>::tiles * Chunk<T>::size];

    template <class Thread>
    BASALT_DEVICE void read_turns(const Thread& thread, const LuTileMemory<T>& memory) {
        thread.sync_warp();
        turns = 0;
        BASALT_UNROLL
        for (int i = 0; i < lane_rows; ++i) {
            turns |= static_cast<unsigned>(memory.places[first + 8 * i] / tile_columns<T>) << (8 * i);
        }
    }
};

/// A matrix whose elements a number of 31 bits counts.
template <class T>
struct LuTileMatrix {
    T* a;
    int n, ld;

    BASALT_DEVICE T* at(int i, int j) const { return a + (i + j * ld); }
};

}  // namespace basalt::cuda_detail::batch
