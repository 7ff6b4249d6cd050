#pragma once

#include <limits>

#include <basalt/triangle.hpp>
#include <basalt/view.hpp>

#include "kernels/cuda/batch/choices.hpp"
#include "kernels/cuda/common/device_code.hpp"

/// Cholesky of many small matrices, written without CUDA so that a test can run it on the host: `Thread` is a thread of
/// a block (`number`, `warp`, `warps`, `lane`, `sync()`, `sync_warp()`, `from_lane()`, `reciprocal_root_estimate()`).
///
/// Threads are rows, with columns of a row in registers, after Kurzak, Anzt, Gates, Dongarra, "Implementation and
/// Tuning of Batched Cholesky Factorization and Solve for NVIDIA GPUs". Orders are padded with the identity, so that
/// bounds matter only where matrices are read and written.
namespace basalt::cuda_detail::batch {

constexpr int lanes = 32;
/// The least multiple of the lanes of a warp that is not less than n.
BASALT_DEVICE constexpr int padded_to_warp(int n) { return (n + lanes - 1) / lanes * lanes; }
constexpr int most_block_warps = 16;  ///< of blocks for LU and QR

/// The lower triangle of A, or of the transpose of an upper triangle: element (i, j) at a[i * down + j * across].
template <class T>
struct Operand {
    T* a;
    Index down, across;
    int n;

    BASALT_DEVICE bool holds(int i, int j) const { return j <= i && i < n; }
    BASALT_DEVICE T* at(int i, int j) const { return a + i * down + j * across; }
    /// Padded with the identity; zero above the diagonal.
    BASALT_DEVICE T load(int i, int j) const { return holds(i, j) ? *at(i, j) : i == j ? T{1} : T{0}; }
};

template <class T>
BASALT_DEVICE Operand<T> operand(Triangle triangle, const View<T>& matrix) {
    const Index ld = matrix.col_stride();
    const bool lower = triangle == Triangle::lower;
    return {matrix.data(), lower ? 1 : ld, lower ? ld : 1, static_cast<int>(matrix.rows())};
}

/// What a thread reads from shared memory at once.
template <class T>
struct alignas(16) Chunk {
    static constexpr int size = 16 / static_cast<int>(sizeof(T));
    T value[size];
};

template <class T>
BASALT_DEVICE Chunk<T> load_chunk(const T* at) {
    return *reinterpret_cast<const Chunk<T>*>(at);
}

/// The number of the thread in its block, hidden from the compiler: what follows from it is computed where it is
/// needed, and takes no registers before.
template <class Thread>
BASALT_DEVICE int number_in_block(const Thread& thread) {
    return recomputed(thread.number);
}

/// visit(j, element) for `count` elements, the first at `element` and each `apart` further. Addresses are hidden from
/// the compiler, which would compute all of them first and keep them in registers.
template <int count, class T, class Visit>
BASALT_DEVICE void for_each_apart(T* element, Index apart, const Visit& visit) {
    BASALT_UNROLL
    for (int j = 0; j < count; ++j, element = recomputed(element + apart)) visit(j, element);
}

/// 1 / sqrt(x) and 1 / x for x and results that are normal, with a relative error of about one rounding, without
/// branches.
template <class T, class Thread>
BASALT_DEVICE T normal_reciprocal_root(const Thread& thread, T x) {
    const T y = thread.reciprocal_root_estimate(x);
    const T e = T{1} - x * y * y;
    return y + y * e * (e * T{0.375} + T{0.5});
}
template <class T, class Thread>
BASALT_DEVICE T normal_reciprocal(const Thread& thread, T x) {
    const T y = thread.reciprocal_estimate(x), e = T{1} - x * y;
    const T z = sizeof(T) == 8 ? y + y * (e + e * e) : y;
    return z + z * (T{1} - x * z);
}

/// 1 / sqrt(x), with a relative error of about one rounding; zero for infinity, infinity for zero, and NaN below.
template <class T, class Thread>
BASALT_DEVICE T reciprocal_root(const Thread& thread, T x) {
    constexpr T root_of_scale = sizeof(T) == 8 ? T{0x1p30} : T{0x1p14};  // the scale makes denormal numbers normal
    if (x >= std::numeric_limits<T>::min() && x <= std::numeric_limits<T>::max()) {
        return normal_reciprocal_root(thread, x);
    }
    const T scaled = root_of_scale * root_of_scale * x;
    const bool denormal = x > T{0} && x < T{1};
    return root_of_scale *
           (denormal ? normal_reciprocal_root(thread, scaled) : thread.reciprocal_root_estimate(scaled));
}

enum class SquareRows { here, elsewhere };

/// A square of `order` columns is eliminated from rows: right-looking, row := row L^-T, and the square's own rows
/// become L. `own` is the row's number in the square, or at least `order` for a row below it.
///
/// With SquareRows::here, the square's rows lie in the lanes of a warp that calls this together, or of a part of it,
/// and each column goes to `columns` (buffers x order, 16-byte aligned) before it is eliminated. With
/// SquareRows::elsewhere that was done before, with a buffer for each column.
///
/// Returns the number, from 1, of the first pivot that is not above zero; 0 if there is none.
template <SquareRows square, int buffers, class T, int order, class Thread>
BASALT_DEVICE int eliminate(const Thread& thread, T (&row)[order], T* columns, int own) {
    constexpr int size = Chunk<T>::size;
    int failed = 0;
    BASALT_UNROLL
    for (int c = 0; c < order; ++c) {
        T* const column = columns + c % buffers * order;
        if constexpr (square == SquareRows::here) {
            // the next but one column comes here only after all lanes have met again, with this one read
            if (own < order) column[own] = row[c];
            thread.sync_warp();
        }
        const Chunk<T> first = load_chunk(column + c / size * size);
        const T pivot = first.value[c % size];
        if (failed == 0 && !(pivot > T{0})) failed = c + 1;
        const T root = reciprocal_root(thread, pivot);
        row[c] *= root;
        const T factor = row[c] * root;  // columns are not scaled
        BASALT_UNROLL
        for (int g = c / size; g < order / size; ++g) {
            const Chunk<T> chunk = g == c / size ? first : load_chunk(column + g * size);
            BASALT_UNROLL
            for (int e = 0; e < size; ++e) {
                if (g * size + e > c) row[g * size + e] -= factor * chunk.value[e];
            }
        }
    }
    return failed;
}

}  // namespace basalt::cuda_detail::batch
