#pragma once

#include <cassert>

#include "kernels/cpu/simd/batch_kernels.hpp"

namespace basalt::simd {
namespace {

/// QR of as many small matrices as a register has lanes, interleaved as in Batches: Householder's reflectors in blocks
/// of four, I - V T V^T (Schreiber, Van Loan, "A Storage-Efficient WY Representation for Products of Householder
/// Transformations").
template <class T, int Bytes>
struct BatchQr {
    using V = Vector<T, Bytes>;
    using Type = typename V::Type;
    using Mask = typename V::Mask;
    static constexpr int lanes = V::lanes;
    static constexpr int rank = 4;                     ///< reflectors of a block
    static constexpr int strip = Bytes == 64 ? 4 : 2;  ///< columns that a block updates together
    static constexpr T safe = sizeof(T) == 4 ? T(1.1754944e-38) : T(2.2250738585072014e-308);  ///< has a reciprocal
    // squares of sums in between are accurate
    static constexpr T least_square = sizeof(T) == 4 ? T(1e-30) : T(1e-280);
    static constexpr T most_square = sizeof(T) == 4 ? T(1e36) : T(1e300);

    /// Element (i, j) at a[i * rs + j * cs].
    struct Matrix {
        T* a;
        Index rs, cs;
        T* at(Index i, Index j) const { return a + i * rs + j * cs; }
    };

    /// V in planes, with ones on its diagonal and zeros above, and T.
    struct Block {
        Index rows;
        T* v;
        Type t[rank][rank];
        T* at(Index i, int c) const { return v + (c * rows + i) * lanes; }
    };

    static bool any(Mask mask) {
        typename V::Bits some = 0;
        for (int l = 0; l < lanes; ++l) some |= mask[l];
        return some != 0;
    }

    struct Norms {
        Type all;   ///< of the whole column
        Mask zero;  ///< where everything but the first element is zero, or too small for its square
    };

    /// Of columns whose squares leave the range of the numbers.
    static Norms scaled_norms(Index rows, const T* x, Index rs) {
        Type largest{};
        for (Index i = 0; i < rows; ++i) {
            const Type m = V::magnitude(V::load(x + i * rs));
            largest = m <= largest ? largest : m;  // NaN stays
        }
        const Type scale = largest > T{} ? largest : V::splat(T{1});
        Type tail{};
        for (Index i = 1; i < rows; ++i) {
            const Type y = V::load(x + i * rs) / scale;
            tail = V::plus_product(tail, y, y);
        }
        const Type first = V::load(x) / scale;
        return {scale * Batches<T, Bytes>::root(V::plus_product(tail, first, first)), tail == T{}};
    }

    static Norms norms(Index rows, const T* x, Index rs) {
        Type sums[4]{};
        Index i = 1;
        for (; i + 4 <= rows; i += 4) {
#pragma GCC unroll 4
            for (int q = 0; q < 4; ++q) {
                const Type y = V::load(x + (i + q) * rs);
                sums[q] = V::plus_product(sums[q], y, y);
            }
        }
        for (; i < rows; ++i) {
            const Type y = V::load(x + i * rs);
            sums[0] = V::plus_product(sums[0], y, y);
        }
        const Type tail = (sums[0] + sums[1]) + (sums[2] + sums[3]), first = V::load(x);
        const Type square = V::plus_product(tail, first, first);
        if (any(~((square >= least_square) & (square <= most_square)))) return scaled_norms(rows, x, rs);
        return {Batches<T, Bytes>::root(square), tail == T{}};
    }

    /// The reflector H with H x = (beta, 0, ..., 0) of the column at x, as in LAPACK's larfg. x gets beta and v below
    /// it. Returns tau.
    static Type reflector(Index rows, T* x, Index rs) {
        const Norms norm = norms(rows, x, rs);
        const Type alpha = V::load(x);
        const Type beta = alpha < T{} ? norm.all : -norm.all;
        const Type difference = alpha - beta;
        const bool divides = any((V::magnitude(difference) < safe) & ~norm.zero);
        const Type reciprocal = norm.zero ? Type{} : T{1} / difference;
        const Type divisor = norm.zero ? V::splat(T{1}) / Type{} : difference;
        for (Index i = 1; i < rows; ++i) {
            const Type y = V::load(x + i * rs);
            V::store(x + i * rs, divides ? y / divisor : y * reciprocal);
        }
        V::store(x, norm.zero ? alpha : beta);
        return norm.zero ? Type{} : -difference / beta;
    }

    /// Column c of V from that of the factors, and column c of T: -tau T V^T v above tau.
    static void add_to_block(Block& block, int c, const T* factors, Index rs, Type tau) {
        for (Index i = 0; i < block.rows; ++i) {
            V::store(block.at(i, c), i < c ? Type{} : i == c ? V::splat(T{1}) : V::load(factors + i * rs));
        }
        Type dots[rank]{};
        for (int d = 0; d < c; ++d) {
            Type sums[2]{};
            Index i = c;
            for (; i + 2 <= block.rows; i += 2) {
                sums[0] = V::plus_product(sums[0], V::load(block.at(i, d)), V::load(block.at(i, c)));
                sums[1] = V::plus_product(sums[1], V::load(block.at(i + 1, d)), V::load(block.at(i + 1, c)));
            }
            if (i < block.rows) {
                sums[0] = V::plus_product(sums[0], V::load(block.at(i, d)), V::load(block.at(i, c)));
            }
            dots[d] = sums[0] + sums[1];
        }
        for (int r = 0; r < rank; ++r) {
            Type sum{};
            for (int d = r; d < c; ++d) sum = V::plus_product(sum, block.t[r][d], dots[d]);
            block.t[r][c] = r < c ? -tau * sum : r == c ? tau : Type{};
        }
    }
    /// A column of zeros, for blocks of fewer than four.
    static void fill_block(Block& block, int c) {
        for (Index i = 0; i < block.rows; ++i) V::store(block.at(i, c), Type{});
        for (int r = 0; r < rank; ++r) block.t[r][c] = block.t[c][r] = Type{};
    }

    /// One reflector of the block on a column: its c-th, by tau alone.
    static void reflect_column(const Block& block, int c, Type tau, T* x, Index rs) {
        Type sums[2]{};
        Index i = c;
        for (; i + 2 <= block.rows; i += 2) {
            sums[0] = V::plus_product(sums[0], V::load(block.at(i, c)), V::load(x + i * rs));
            sums[1] = V::plus_product(sums[1], V::load(block.at(i + 1, c)), V::load(x + (i + 1) * rs));
        }
        if (i < block.rows) sums[0] = V::plus_product(sums[0], V::load(block.at(i, c)), V::load(x + i * rs));
        const Type weight = tau * (sums[0] + sums[1]);
        for (i = c; i < block.rows; ++i) {
            V::store(x + i * rs, V::minus_product(V::load(x + i * rs), V::load(block.at(i, c)), weight));
        }
    }

    /// I - V T V^T, or with T^T, on `count` columns at x.
    template <bool transposed, int count>
    static void reflect_strip(const Block& block, T* x, Index rs, Index cs) {
        Type sums[rank][count]{};
        for (Index i = 0; i < block.rows; ++i) {
#pragma GCC unroll 4
            for (int q = 0; q < count; ++q) {
                const Type element = V::load(x + i * rs + q * cs);
#pragma GCC unroll 4
                for (int c = 0; c < rank; ++c) {
                    sums[c][q] = V::plus_product(sums[c][q], V::load(block.at(i, c)), element);
                }
            }
        }
        Type weights[rank][count];
#pragma GCC unroll 4
        for (int q = 0; q < count; ++q) {
#pragma GCC unroll 4
            for (int c = 0; c < rank; ++c) {
                Type weight{};
#pragma GCC unroll 4
                for (int d = transposed ? 0 : c; d < (transposed ? c + 1 : rank); ++d) {
                    weight = V::plus_product(weight, transposed ? block.t[d][c] : block.t[c][d], sums[d][q]);
                }
                weights[c][q] = weight;
            }
        }
        for (Index i = 0; i < block.rows; ++i) {
#pragma GCC unroll 4
            for (int q = 0; q < count; ++q) {
                T* const at = x + i * rs + q * cs;
                Type element = V::load(at);
#pragma GCC unroll 4
                for (int c = 0; c < rank; ++c) {
                    element = V::minus_product(element, V::load(block.at(i, c)), weights[c][q]);
                }
                V::store(at, element);
            }
        }
    }
    template <bool transposed>
    static void reflect(const Block& block, Index columns, T* x, Index rs, Index cs) {
        Index c = 0;
        for (; c + strip <= columns; c += strip) reflect_strip<transposed, strip>(block, x + c * cs, rs, cs);
        for (; c < columns; ++c) reflect_strip<transposed, 1>(block, x + c * cs, rs, cs);
    }

    static Index smaller(Index a, Index b) { return a < b ? a : b; }

    /// A (m x n) becomes R and the vectors, as LAPACK's geqrf has them; work holds rank m registers.
    static void factor(Index m, Index n, T* a, Index rs, Index cs, T* tau, T* work, const Ahead<T>& ahead) {
        const Matrix matrix{a, rs, cs};
        const Index steps = smaller(m, n);
        Fetch<T> fetch(ahead, steps);
        for (Index j = 0; j < steps; j += rank) {
            Block block{m - j, work, {}};
            const int width = static_cast<int>(smaller(rank, steps - j));
            for (int c = 0; c < rank; ++c) {
                if (c >= width) {
                    fill_block(block, c);
                    continue;
                }
                const Type own = reflector(m - j - c, matrix.at(j + c, j + c), rs);
                V::store(tau + (j + c) * lanes, own);
                add_to_block(block, c, matrix.at(j, j + c), rs, own);
                for (int q = c + 1; q < width; ++q) reflect_column(block, c, own, matrix.at(j, j + q), rs);
                fetch.step();
            }
            if (j + width < n) reflect<true>(block, n - j - width, matrix.at(j, j + width), rs, cs);
        }
        assert(fetch.done());
    }

    static Block load_block(Index m, Index k, Index j, const Matrix& matrix, const T* tau, T* work) {
        Block block{m - j, work, {}};
        for (int c = 0; c < rank; ++c) {
            if (j + c < k) {
                add_to_block(block, c, matrix.at(j, j + c), matrix.rs, V::load(tau + (j + c) * lanes));
            } else {
                fill_block(block, c);
            }
        }
        return block;
    }

    /// C (m x columns) := Q^T C or Q C for Q = H_1 ... H_k. Where `form`, C holds the first columns of the identity,
    /// and what stays zero is left out.
    static void apply(Index m, Index k, T* a, Index rs, Index cs, const T* tau, BatchReflection what, Index columns,
                      T* c, Index c_cs, T* work) {
        const Matrix matrix{a, rs, cs};
        if (what == BatchReflection::transposed) {
            for (Index j = 0; j < k; j += rank) {
                reflect<true>(load_block(m, k, j, matrix, tau, work), columns, c + j * lanes, lanes, c_cs);
            }
            return;
        }
        for (Index j = (k - 1) / rank * rank; j >= 0 && k > 0; j -= rank) {
            const Index first = what == BatchReflection::of_identity ? j : 0;
            reflect<false>(load_block(m, k, j, matrix, tau, work), columns - first, c + j * lanes + first * c_cs, lanes,
                           c_cs);
        }
    }
};

}  // namespace
}  // namespace basalt::simd
