#pragma once

#include <cstddef>
#include <cstdint>

#include <basalt/view.hpp>

#include "kernels/cuda/batch/pivot_search.hpp"
#include "kernels/cuda/batch/tile_rows.hpp"

/// What a block and its threads have of a matrix while lu_tiles.hpp factors it.
namespace basalt::cuda_detail::batch {

/// Shared memory of a block: first what has the same size for all orders, then a part for each warp, so that the
/// compiler knows most distances.
template <class T>
struct LuTileMemory {
    static constexpr int tile = tile_columns<T>, tiles = 4, width = tiles * tile;

    PivotCandidate<T>* candidates;
    int order;  ///< padded to a warp

    static std::size_t bytes(int n) {
        const int order = padded_to_warp(n), panels = (n + width - 1) / width;
        return (bytes_before_warps + static_cast<std::size_t>(order / lanes) * bytes_of_warp +
                static_cast<std::size_t>(SharedRows<T, width>::elements(order)) * sizeof(T) +
                static_cast<std::size_t>(panels * order) * sizeof(std::uint16_t) + 15) /
               16 * 16;
    }
    BASALT_DEVICE LuTileMemory(void* raw, int n)
        : candidates(static_cast<PivotCandidate<T>*>(raw)), order(padded_to_warp(n)) {}

    /// INFO, which only the first thread reads and writes before the block has met at the end.
    BASALT_DEVICE int* info() const { return reinterpret_cast<int*>(candidates + pivot_candidates); }
    /// How many rows of a warp are unfinished.
    BASALT_DEVICE int* unfinished(int warp) const { return info() + padded_info + warp; }

    BASALT_DEVICE WarpColumns<T> columns_of(int warp) const { return {reinterpret_cast<T*>(of_warp(warp))}; }
    /// L on the diagonal, the tile that begins in row `first`, column-major; of finished panels in double precision its
    /// inverse.
    BASALT_DEVICE T* square(int first) const {
        return columns_of(first / lanes).data + (WarpColumns<T>::elements + first % lanes * tile);
    }
    /// Of step i, from 0. The steps of a tile are neighbours.
    BASALT_DEVICE int* pivot(int i) const { return numbers_of(i / lanes) + i % lanes; }
    /// Of row i.
    BASALT_DEVICE int* place(int i) const { return numbers_of(i / lanes) + (lanes + i % lanes); }

    /// Of the panel, in the order of pivots.
    BASALT_DEVICE SharedRows<T, width> upper() const { return {columns_of(order / lanes).data}; }
    /// The rows of A where a panel has its rows.
    BASALT_DEVICE std::uint16_t* stored(int panel) const {
        return reinterpret_cast<std::uint16_t*>(upper().data + SharedRows<T, width>::elements(order)) + panel * order;
    }

  private:
    static constexpr int padded_info = 4;  // to 16 bytes
    static constexpr std::size_t bytes_before_warps =
        pivot_candidates * sizeof(PivotCandidate<T>) + (padded_info + most_block_warps) * sizeof(int);
    static constexpr int bytes_of_elements = (WarpColumns<T>::elements + lanes * tile) * static_cast<int>(sizeof(T));
    static constexpr int bytes_of_warp = bytes_of_elements + 2 * lanes * static_cast<int>(sizeof(int));
    static_assert(bytes_before_warps % 16 == 0 && bytes_of_warp % 16 == 0);

    BASALT_DEVICE unsigned char* of_warp(int warp) const {
        return reinterpret_cast<unsigned char*>(candidates) + (bytes_before_warps + warp * bytes_of_warp);
    }
    BASALT_DEVICE int* numbers_of(int warp) const { return reinterpret_cast<int*>(of_warp(warp) + bytes_of_elements); }
};

/// What a thread has of its own row, whose number is that of the thread in its block, and as a lane of four rows.
template <class T>
struct LuTileRows {
    int place;       ///< of the own row
    unsigned turns;  ///< by which tile of pivots its rows are finished, a byte each
    T c[lane_rows][LuTileMemory<T>::tiles * Chunk<T>::size];

    template <class Thread>
    BASALT_DEVICE void read_turns(const Thread& thread, const LuTileMemory<T>& memory) {
        thread.sync_warp();
        const int first = TilePlace(number_in_block(thread)).row;
        turns = 0;
        BASALT_UNROLL
        for (int i = 0; i < lane_rows; ++i) {
            turns |= static_cast<unsigned>(*memory.place(first + 8 * i) / tile_columns<T>) << (8 * i);
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
