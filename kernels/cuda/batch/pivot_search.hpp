#pragma once

#include "kernels/cuda/batch/pivot_keys.hpp"
#include "kernels/cuda/batch/tile_rows.hpp"

/// The search for pivots by a block of threads that have a row each, with one barrier a column: each warp brings the
/// row of its best candidate to shared memory before the block knows whether that is the pivot.
namespace basalt::cuda_detail::batch {

/// The best candidate of a warp.
template <class T>
struct alignas(16) PivotCandidate {
    T row[tile_columns<T>];
    T reciprocal;
    unsigned key;
    int place;
};
/// Of all warps, for steps with even and with odd numbers.
constexpr int pivot_candidates = 2 * most_block_warps;

/// Eliminates columns first .. first + tile of a matrix of order n from the elements v of each thread's row, whose
/// number and place are the others' as well: `place` follows the exchanges. pivots[c] becomes the place of the pivot of
/// column first + c.
template <int tile, class T, class Thread>
BASALT_DEVICE void eliminate_tile(const Thread& thread, PivotCandidate<T>* candidates, int* pivots, int n, int first,
                                  Pivoting pivoting, int& place, T (&v)[tile]) {
    const bool leads = thread.warp == 0 && thread.lane == 0, of_warp = thread.lane < thread.warps;
    BASALT_UNROLL
    for (int c = 0; c < tile; ++c) {
        const int k = first + c;
        if (k >= n) break;
        const unsigned key = pivoting == Pivoting::partial ? pivot_key(v[c], place, k) : place == k ? 1U : 0U;
        T reciprocal{};
        bool best = false;
        best_lane<T>(
            thread, key, best, [&] { return magnitude_bits(v[c]).low; }, [&] { return place; },
            [&] { reciprocal = in_advance(reciprocal_or_zero(thread, v[c])); });
        // candidates of the next but one step come here only after the block has met again, with these read
        PivotCandidate<T>* const step = candidates + c % 2 * most_block_warps;
        if (best) {
            PivotCandidate<T>& own = step[thread.warp];
            own.key = key;
            own.place = place;
            own.reciprocal = reciprocal;
            BASALT_UNROLL
            for (int d = c; d < tile; ++d) own.row[d] = v[d];
        }
        thread.sync();
        const PivotCandidate<T>& other = step[of_warp ? thread.lane : 0];
        const unsigned lane = best_lane<T>(
            thread, of_warp ? other.key : 0U, best, [&] { return magnitude_bits(other.row[c]).low; },
            [&] { return other.place; }, [] {});
        const PivotCandidate<T>& chosen = step[lowest_bit(lane)];
        const int from = chosen.place;
        const T factor = chosen.reciprocal;
        T u[tile];
        BASALT_UNROLL
        for (int d = c; d < tile; ++d) u[d] = chosen.row[d];
        if (leads) pivots[c] = from;
        place = place == from ? k : place == k ? from : place;
        T m = v[c] * factor;
        if (__builtin_expect(is_zero(factor), 0)) m = v[c] / u[c];
        if (place > k) {
            v[c] = m;
            BASALT_UNROLL
            for (int d = c + 1; d < tile; ++d) v[d] -= m * u[d];
        }
    }
}

}  // namespace basalt::cuda_detail::batch
