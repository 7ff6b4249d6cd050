#pragma once

#include <cassert>
#include <cstdint>

#include "kernels/cpu/simd/batch_ahead.hpp"
#include "kernels/cpu/simd/transpose_kernels.hpp"
#include "kernels/cpu/simd/vector.hpp"

namespace basalt::simd {
namespace {

/// Cholesky of as many small matrices as a register has lanes, interleaved: lane l of each register belongs to matrix
/// l. No operation crosses lanes, so a NaN or a failed pivot stays in its matrix.
template <class T, int Bytes>
struct Batches {
    using V = Vector<T, Bytes>;
    using Type = typename V::Type;
    using Mask = typename V::Mask;
    static constexpr int lanes = V::lanes;
    static constexpr int cols = 4;                         ///< of a tile of registers
    static constexpr int most_rows = Bytes == 64 ? 4 : 2;  ///< of a tile: 32 registers or 16

    // Matrices 4096 bytes apart, or a multiple of that, share a set of the first cache, which has eight ways or more.
    // So at most eight matrices move at once: half of the lanes where there are sixteen.
    static constexpr int group = lanes >= 16 ? lanes / 2 : lanes;

    /// `group` columns of a transposition, whose registers hold one or two blocks of group x group elements.
    template <int Span>
    __attribute__((always_inline)) static void butterflies(Type (&rows)[group]) {
        if constexpr (Span < group) {
#pragma GCC unroll 8
            for (int i = 0; i < group; ++i) {
                if ((i & Span) == 0) {
                    Transpose<T, Bytes>::template exchange<Span>(rows[i], rows[i + Span],
                                                                 std::make_integer_sequence<int, lanes>{});
                }
            }
            butterflies<2 * Span>(rows);
        }
    }

    /// `lanes` elements of the matrices first .. first + group - 1 become that many parts of registers at `to`.
    __attribute__((always_inline)) static void interleave_line(const T* const* from, Index offset, T* to) {
        Type rows[group];
#pragma GCC unroll 8
        for (int l = 0; l < group; ++l) rows[l] = V::load(from[l] + offset);
        butterflies<1>(rows);
#pragma GCC unroll 8
        for (int i = 0; i < group; ++i) {
            if constexpr (group == lanes) {
                V::store(to + i * lanes, rows[i]);
            } else {
                using H = Vector<T, Bytes / 2>;
                H::store(to + i * lanes, half<0>(rows[i], std::make_integer_sequence<int, group>{}));
                H::store(to + (i + group) * lanes, half<group>(rows[i], std::make_integer_sequence<int, group>{}));
            }
        }
    }

    __attribute__((always_inline)) static void separate_line(const T* from, T* const* to, Index offset) {
        Type rows[group];
#pragma GCC unroll 8
        for (int i = 0; i < group; ++i) {
            if constexpr (group == lanes) {
                rows[i] = V::load(from + i * lanes);
            } else {
                using H = Vector<T, Bytes / 2>;
                rows[i] = joined(H::load(from + i * lanes), H::load(from + (i + group) * lanes),
                                 std::make_integer_sequence<int, lanes>{});
            }
        }
        butterflies<1>(rows);
#pragma GCC unroll 8
        for (int l = 0; l < group; ++l) {
            if (to[l] != nullptr) V::store(to[l] + offset, rows[l]);
        }
    }

    template <int First, int... Lane>
    static auto half(Type row, std::integer_sequence<int, Lane...>) {
        return __builtin_shufflevector(row, row, (First + Lane)...);
    }
    template <class Half, int... Lane>
    static Type joined(Half low, Half high, std::integer_sequence<int, Lane...>) {
        return __builtin_shufflevector(low, high, Lane...);
    }

    /// Calls line(i) for stretches of `lanes` elements that cover those from begin to end. The last one may overlap the
    /// one before: moving an element twice does no harm. So may the second one where the first aligned element is
    /// begin + skew. Calls element(i) for each where fewer lie there.
    template <class Line, class Element>
    __attribute__((always_inline)) static void visit_stretch(Index begin, Index end, Index skew, const Line& line,
                                                             const Element& element) {
        if (end - begin < lanes) {
            for (Index i = begin; i < end; ++i) element(i);
            return;
        }
        Index i = begin;
        if (skew > 0) {
            line(i);
            i += skew;
        }
        for (; i + lanes <= end; i += lanes) line(i);
        if (i < end) line(end - lanes);
    }

    /// Elements from `matrix` to the first one that is aligned to a register, which then crosses no line of a cache.
    /// Matrices of a batch mostly lie a multiple of that apart. Few registers are not worth one more.
    static Index skew_of(const T* matrix, Index elements) {
        constexpr Index worth = 32 * lanes;
        const auto beyond = static_cast<Index>(reinterpret_cast<std::uintptr_t>(matrix) % Bytes);
        return elements < worth || beyond == 0 ? 0 : (Bytes - beyond) / static_cast<Index>(sizeof(T));
    }

    /// The same for the part of matrices, of which `matrix` is one, with the position in a matrix and that among
    /// interleaved elements.
    template <class Line, class Element>
    __attribute__((always_inline)) static void visit_matrix(const T* matrix, Index rows, Index columns, BatchPart part,
                                                            Index ld, Index apart, const Line& line,
                                                            const Element& element) {
        // half of a matrix of few registers costs as much as all of it
        if (ld == rows && apart == rows && (part == BatchPart::all || rows < 2 * lanes)) {
            return visit_stretch(
                0, rows * columns, skew_of(matrix, rows * columns), [&](Index i) { line(i, i); },
                [&](Index i) { element(i, i); });
        }
        for (Index j = 0; j < columns; ++j) {
            Index begin = part == BatchPart::lower ? j : 0, end = part == BatchPart::upper ? j + 1 : rows;
            const Index whole = (end - begin + lanes - 1) / lanes * lanes;
            if (part == BatchPart::lower && whole <= end) begin = end - whole;
            if (part == BatchPart::upper && whole <= rows) end = whole;
            visit_stretch(
                begin, end, 0, [&](Index i) { line(j * ld + i, j * apart + i); },
                [&](Index i) { element(j * ld + i, j * apart + i); });
        }
    }

    static void interleave(Index rows, Index columns, BatchPart part, const T* const* from, Index ld, T* to,
                           Index apart) {
        for (int first = 0; first < lanes; first += group) {
            visit_matrix(
                from[first], rows, columns, part, ld, apart,
                [&](Index offset, Index i) { interleave_line(from + first, offset, to + i * lanes + first); },
                [&](Index offset, Index i) {
                    for (int l = first; l < first + group; ++l) to[i * lanes + l] = from[l][offset];
                });
        }
    }

    static void separate(Index rows, Index columns, BatchPart part, const T* from, Index apart, T* const* to,
                         Index ld) {
        for (int first = 0; first < lanes; first += group) {
            visit_matrix(
                to[first], rows, columns, part, ld, apart,
                [&](Index offset, Index i) { separate_line(from + i * lanes + first, to + first, offset); },
                [&](Index offset, Index i) {
                    for (int l = first; l < first + group; ++l) {
                        if (to[l] != nullptr) to[l][offset] = from[i * lanes + l];
                    }
                });
        }
    }

    // GCC 12 warns of the undefined lanes in the forms without a mask
    static Type root(Type v) {
#if defined(__AVX512F__)
        if constexpr (Bytes == 64 && sizeof(T) == 8) return _mm512_maskz_sqrt_pd(0xff, v);
        if constexpr (Bytes == 64 && sizeof(T) == 4) return _mm512_maskz_sqrt_ps(0xffff, v);
#endif
#if defined(__AVX__)
        if constexpr (Bytes == 32 && sizeof(T) == 8) return _mm256_sqrt_pd(v);
        if constexpr (Bytes == 32 && sizeof(T) == 4) return _mm256_sqrt_ps(v);
#endif
        for (int l = 0; l < lanes; ++l) v[l] = sizeof(T) == 4 ? __builtin_sqrtf(v[l]) : __builtin_sqrt(v[l]);
        return v;
    }

    /// A tile of Rows x Cols registers at `at`, whose rows and columns are rs and cs elements apart.
    template <int Rows, int Cols>
    struct Tile {
        Type x[Rows][Cols];

        __attribute__((always_inline)) void load(const T* at, Index rs, Index cs) {
#pragma GCC unroll 4
            for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
                for (int c = 0; c < Cols; ++c) x[r][c] = V::load(at + r * rs + c * cs);
            }
        }
        __attribute__((always_inline)) void store(T* at, Index rs, Index cs) const {
#pragma GCC unroll 4
            for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
                for (int c = 0; c < Cols; ++c) V::store(at + r * rs + c * cs, x[r][c]);
            }
        }
        /// this -= A B with A Rows x depth and B depth x Cols.
        __attribute__((always_inline)) void subtract(Index depth, const T* a, Index a_rs, Index a_cs, const T* b,
                                                     Index b_rs, Index b_cs) {
            for (; depth > 0; --depth, a += a_cs, b += b_rs) {
                Type row[Cols];
#pragma GCC unroll 4
                for (int c = 0; c < Cols; ++c) row[c] = V::load(b + c * b_cs);
#pragma GCC unroll 4
                for (int r = 0; r < Rows; ++r) {
                    const Type element = V::load(a + r * a_rs);
#pragma GCC unroll 4
                    for (int c = 0; c < Cols; ++c) x[r][c] = V::minus_product(x[r][c], element, row[c]);
                }
            }
        }
    };

    /// Calls visit(integral constant r, i) for tiles of r rows that cover [begin, end).
    template <class Visit>
    __attribute__((always_inline)) static void tile_rows(Index begin, Index end, const Visit& visit) {
        Index i = begin;
        for (; i + most_rows <= end; i += most_rows) visit(std::integral_constant<int, most_rows>{}, i);
        for (; i + 2 <= end; i += 2) visit(std::integral_constant<int, 2>{}, i);
        for (; i < end; ++i) visit(std::integral_constant<int, 1>{}, i);
    }

    /// L is n x n at a, element (i, j) at a[i * rs + j * cs].
    struct Matrix {
        T* a;
        Index rs, cs;
        T* at(Index i, Index j) const { return a + i * rs + j * cs; }
    };

    /// The Size x Size block on the diagonal at j, with the updates by all columns on its left.
    template <int Size>
    static void factor_diagonal(const Matrix& m, Index j, T* reciprocals, Mask& info) {
        Tile<Size, Size> tile;
        tile.load(m.at(j, j), m.rs, m.cs);
        tile.subtract(j, m.at(j, 0), m.rs, m.cs, m.at(j, 0), m.cs, m.rs);
#pragma GCC unroll 4
        for (int c = 0; c < Size; ++c) {
            const Type pivot = tile.x[c][c];
            const Mask failed = ~(pivot > Type{}) & (info == 0);
            info = failed ? Mask{} + static_cast<typename V::Bits>(j + c + 1) : info;
            tile.x[c][c] = root(pivot);
            const Type reciprocal = T{1} / tile.x[c][c];
            V::store(reciprocals + (j + c) * lanes, reciprocal);
#pragma GCC unroll 4
            for (int r = c + 1; r < Size; ++r) tile.x[r][c] *= reciprocal;
#pragma GCC unroll 4
            for (int k = c + 1; k < Size; ++k) {
#pragma GCC unroll 4
                for (int r = k; r < Size; ++r)
                    tile.x[r][k] = V::minus_product(tile.x[r][k], tile.x[r][c], tile.x[k][c]);
            }
#pragma GCC unroll 4
            for (int r = c; r < Size; ++r) V::store(m.at(j + r, j + c), tile.x[r][c]);
        }
    }

    /// Rows i.. of the block column at j, whose diagonal block is done.
    template <int Rows>
    static void factor_below(const Matrix& m, Index i, Index j, const T* reciprocals) {
        Tile<Rows, cols> tile;
        tile.load(m.at(i, j), m.rs, m.cs);
        tile.subtract(j, m.at(i, 0), m.rs, m.cs, m.at(j, 0), m.cs, m.rs);
#pragma GCC unroll 4
        for (int c = 0; c < cols; ++c) {
            const Type reciprocal = V::load(reciprocals + (j + c) * lanes);
#pragma GCC unroll 4
            for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
                for (int k = 0; k < c; ++k) {
                    tile.x[r][c] = V::minus_product(tile.x[r][c], tile.x[r][k], V::load(m.at(j + c, j + k)));
                }
                tile.x[r][c] *= reciprocal;
            }
        }
        tile.store(m.at(i, j), m.rs, m.cs);
    }

    /// Left-looking by block columns, in place.
    static void factor(Index n, T* a, Index rs, Index cs, T* reciprocals, Index* info, const Ahead<T>& ahead) {
        const Matrix m{a, rs, cs};
        const Index blocks = n / cols;
        Fetch<T> fetch(ahead, blocks * (blocks + 1) / 2 + 1);
        Mask first_failed{};
        Index j = 0;
        for (; j + cols <= n; j += cols) {
            factor_diagonal<cols>(m, j, reciprocals, first_failed);
            fetch.step();
            tile_rows(j + cols, n, [&]<int Rows>(std::integral_constant<int, Rows>, Index i) {
                factor_below<Rows>(m, i, j, reciprocals);
                fetch.step();
            });
        }
        fetch.step();
        if (n - j == 3) factor_diagonal<3>(m, j, reciprocals, first_failed);
        if (n - j == 2) factor_diagonal<2>(m, j, reciprocals, first_failed);
        if (n - j == 1) factor_diagonal<1>(m, j, reciprocals, first_failed);
        for (int l = 0; l < lanes; ++l) info[l] = first_failed[l];
        assert(fetch.done());
    }

    static void invert_diagonal(Index n, const T* a, Index rs, Index cs, T* reciprocals) {
        for (Index i = 0; i < n; ++i) V::store(reciprocals + i * lanes, T{1} / V::load(a + i * (rs + cs)));
    }

    /// Rows i.. of X = L^-1 B for Cols columns at b, with the rows above done.
    template <bool Unit, int Rows, int Cols>
    static void substitute_rows(const Matrix& l, Index i, const T* reciprocals, Index step, T* b, Index b_rs,
                                Index b_cs) {
        Tile<Rows, Cols> tile;
        tile.load(b + i * b_rs, b_rs, b_cs);
        tile.subtract(i, l.at(i, 0), l.rs, l.cs, b, b_rs, b_cs);
#pragma GCC unroll 4
        for (int r = 0; r < Rows; ++r) {
            const Type reciprocal = Unit ? Type{} : V::load(reciprocals + (i + r) * step);
#pragma GCC unroll 4
            for (int c = 0; c < Cols; ++c) {
#pragma GCC unroll 4
                for (int k = 0; k < r; ++k) {
                    tile.x[r][c] = V::minus_product(tile.x[r][c], V::load(l.at(i + r, i + k)), tile.x[k][c]);
                }
                if constexpr (!Unit) tile.x[r][c] *= reciprocal;
            }
        }
        tile.store(b + i * b_rs, b_rs, b_cs);
    }

    /// X = L^-1 B in place; neighbours in `reciprocals` are `step` elements apart.
    template <bool Unit>
    static void substitute(Index n, Index columns, const Matrix& l, const T* reciprocals, Index step, T* b, Index b_rs,
                           Index b_cs) {
        const auto some = [&]<int Cols>(std::integral_constant<int, Cols>, T* at) {
            tile_rows(0, n, [&]<int Rows>(std::integral_constant<int, Rows>, Index i) {
                substitute_rows<Unit, Rows, Cols>(l, i, reciprocals, step, at, b_rs, b_cs);
            });
        };
        Index c = 0;
        for (; c + cols <= columns; c += cols) some(std::integral_constant<int, cols>{}, b + c * b_cs);
        for (; c < columns; ++c) some(std::integral_constant<int, 1>{}, b + c * b_cs);
    }

    static void substitute_any(Index n, Index columns, T* a, Index rs, Index cs, const T* reciprocals, Index step, T* b,
                               Index b_rs, Index b_cs) {
        if (reciprocals == nullptr) return substitute<true>(n, columns, {a, rs, cs}, nullptr, 0, b, b_rs, b_cs);
        substitute<false>(n, columns, {a, rs, cs}, reciprocals, step, b, b_rs, b_cs);
    }

    /// L^T X = Y is a lower triangular system, too, once rows and columns are counted from the end.
    static void solve(Index n, Index columns, T* a, Index rs, Index cs, const T* reciprocals, T* b) {
        if (n == 0) return;
        substitute<false>(n, columns, {a, rs, cs}, reciprocals, lanes, b, lanes, n * lanes);
        const Index last = n - 1;
        substitute<false>(n, columns, {a + last * (rs + cs), -cs, -rs}, reciprocals + last * lanes, -lanes,
                          b + last * lanes, -lanes, n * lanes);
    }
};

}  // namespace
}  // namespace basalt::simd
