#pragma once

#include "kernels/cpu/simd/vector.hpp"

namespace basalt::simd {
namespace {

/// GEMM with a small inner dimension: C -= A B, C and A row-major, B packed into strips.
///
/// A tile of Rows x 2 vectors of C lives in registers; A(i, k) is broadcast from memory, a strip of B streams
/// through the first cache. A is read in place: rows half a page apart share two sets of the first cache, and
/// Rows of them fit its ways.
template <class T, int Bytes, int TileRows>
struct Gemm {
    using V = Vector<T, Bytes>;
    using Type = typename V::Type;
    static constexpr Index half_strip = V::lanes;
    static constexpr Index strip = 2 * V::lanes;
    static constexpr Index line = 64 / static_cast<Index>(sizeof(T));
    /// Products a row of A has to take part in while the memory answers a prefetch.
    static constexpr Index prefetch_work = 2048;
    static constexpr Index depth_block = 256;
    static constexpr Index column_block = 256;
    static constexpr Index copy_ld = depth_block + line;
    static constexpr Index pack_rows = 8;

    static Index packed_width(Index cols) { return cols <= half_strip ? half_strip : strip; }

    /// sum += A B for Rows rows of A and `Vectors` vectors of columns of B, whose rows are Width elements apart.
    template <int Rows, int Vectors, int Width>
    __attribute__((always_inline)) static inline void accumulate(Index depth, const T* a, Index lda, const T* b,
                                                                 Type (&sum)[Rows][Vectors]) {
        // Three rows share a pointer: the addresses a, a + lda, a + 2 lda need two registers.
        constexpr int groups = (Rows + 2) / 3;
        const T* group[groups];
        for (int g = 0; g < groups; ++g) group[g] = a + 3 * g * lda;
        const auto step = [&](int k) __attribute__((always_inline)) {
            Type row[Vectors];
#pragma GCC unroll 2
            for (int v = 0; v < Vectors; ++v) row[v] = V::load(b + k * Width + v * V::lanes);
#pragma GCC unroll 16
            for (int i = 0; i < Rows; ++i) {
                const Type element = V::splat(group[i / 3][(i % 3) * lda + k]);
#pragma GCC unroll 2
                for (int v = 0; v < Vectors; ++v) sum[i][v] = V::plus_product(sum[i][v], element, row[v]);
            }
        };
        const auto advance = [&](int count) __attribute__((always_inline)) {
            b += count * Width;
#pragma GCC unroll 8
            for (int g = 0; g < groups; ++g) {
                group[g] += count;
                asm("" : "+r"(group[g]));  // or the compiler keeps one pointer a row, and spills them
            }
        };
        Index k = 0;
        for (; k + 4 <= depth; k += 4) {
            step(0), step(1), step(2), step(3);
            advance(4);
        }
        for (; k < depth; ++k) {
            step(0);
            advance(1);
        }
    }

    /// Rows x (Vectors vectors) of C; only the first `valid` columns are stored. C is in the first cache when the sums
    /// are there.
    template <int Rows, int Vectors>
    __attribute__((noinline)) static void tile(Index depth, const T* a, Index lda, const T* b, T* c, Index ldc,
                                               Index valid) {
        for (int i = 0; i < Rows; ++i) {
            for (int v = 0; v < Vectors; ++v) __builtin_prefetch(c + i * ldc + v * V::lanes, 1, 3);
        }
        Type sum[Rows][Vectors] = {};
        accumulate<Rows, Vectors, Vectors * V::lanes>(depth, a, lda, b, sum);
        subtract<Rows, Vectors>(sum, c, ldc, valid);
    }

    template <int Rows, int Vectors>
    __attribute__((always_inline)) static inline void subtract(Type (&sum)[Rows][Vectors], T* c, Index ldc,
                                                               Index valid) {
        if (valid == Vectors * V::lanes) {
#pragma GCC unroll 16
            for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 2
                for (int v = 0; v < Vectors; ++v) {
                    T* at = c + i * ldc + v * V::lanes;
                    V::store(at, V::load(at) - sum[i][v]);
                }
            }
            return;
        }
        T buffer[Vectors * V::lanes];
#pragma GCC unroll 16
        for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 2
            for (int v = 0; v < Vectors; ++v) V::store(buffer + v * V::lanes, sum[i][v]);
            for (Index j = 0; j < valid; ++j) c[i * ldc + j] -= buffer[j];
        }
    }

    /// Up to TileRows rows of one strip.
    template <int Vectors>
    static void tile_rows(Index rows, Index depth, const T* a, Index lda, const T* b, T* c, Index ldc, Index valid) {
        if (rows == TileRows) return tile<TileRows, Vectors>(depth, a, lda, b, c, ldc, valid);
        const auto some = [&]<int Rows>(std::integral_constant<int, Rows>) {
            if constexpr (Rows < TileRows) {
                for (; rows >= Rows; rows -= Rows, a += Rows * lda, c += Rows * ldc) {
                    tile<Rows, Vectors>(depth, a, lda, b, c, ldc, valid);
                }
            }
        };
        some(std::integral_constant<int, 8>{});
        some(std::integral_constant<int, 4>{});
        some(std::integral_constant<int, 2>{});
        some(std::integral_constant<int, 1>{});
    }

    static void strip_rows(Index rows, Index depth, const T* a, Index lda, const T* b, T* c, Index ldc, Index valid) {
        if (valid <= half_strip) return tile_rows<1>(rows, depth, a, lda, b, c, ldc, valid);
        return tile_rows<2>(rows, depth, a, lda, b, c, ldc, valid);
    }

    /// Into the second cache: the first one is full of the tile at work.
    static void prefetch(Index rows, Index cols, const T* from, Index ld) {
        for (Index i = 0; i < rows; ++i) {
            for (Index j = 0; j < cols; j += line) __builtin_prefetch(from + i * ld + j, 0, 2);
        }
    }

    static void gemm_minus(Index m, Index n, Index k, T* c, Index ldc, const T* a, Index lda, const T* packed) {
        for (Index n0 = 0; n0 < n; n0 += column_block) {
            const Index cols = n - n0 < column_block ? n - n0 : column_block;
            for (Index k0 = 0; k0 < k; k0 += depth_block) {
                const Index depth = k - k0 < depth_block ? k - k0 : depth_block;
                multiply(m, cols, depth, c + n0, ldc, a + k0, lda, packed + n0 * k, k, k0);
            }
        }
    }

    /// One pass: C -= A times rows k0 .. k0 + depth - 1 of B, whose strips hold k rows.
    static void multiply(Index m, Index n, Index depth, T* c, Index ldc, const T* a, Index lda, const T* packed,
                         Index k, Index k0) {
        const Index ahead = TileRows * (1 + prefetch_work / (depth * n));
        for (Index i = 0; i < m; i += TileRows, a += TileRows * lda, c += TileRows * ldc) {
            const Index rows = m - i < TileRows ? m - i : TileRows;
            const Index below = m - i - ahead < TileRows ? m - i - ahead : TileRows;
            multiply_rows(rows, n, depth, c, ldc, a, lda, packed, k, k0,
                          {below, c + ahead * ldc, ldc, a + ahead * lda, lda});
        }
    }

    /// Rows of a later block, which arrive while this one is computed.
    struct Ahead {
        Index rows;
        const T* c;
        Index ldc;
        const T* a;
        Index lda;
    };

    /// multiply for up to TileRows rows.
    static void multiply_rows(Index rows, Index n, Index depth, T* c, Index ldc, const T* a, Index lda, const T* packed,
                              Index k, Index k0, const Ahead& ahead) {
        alignas(64) T copy[TileRows * copy_ld];
        // Rows a multiple of a page apart share one set of the first cache: such a block is copied.
        if (lda * static_cast<Index>(sizeof(T)) % 4096 == 0 && n > 2 * strip) {
            for (Index r = 0; r < rows; ++r) __builtin_memcpy(copy + r * copy_ld, a + r * lda, depth * sizeof(T));
            a = copy;
            lda = copy_ld;
        }
        Index fetched = 0;
        for (Index j = 0; j < n; j += strip) {
            const Index valid = n - j < strip ? n - j : strip;
            prefetch(ahead.rows, valid, ahead.c + j, ahead.ldc);
            const Index fetch = j + strip < n ? depth * (j + strip) / n / line * line : depth;
            prefetch(ahead.rows, fetch - fetched, ahead.a + fetched, ahead.lda);
            fetched = fetch;
            strip_rows(rows, depth, a, lda, packed + j * k + k0 * packed_width(valid), c + j, ldc, valid);
        }
    }

    static void pack_strip(Index k, Index valid, const T* b, Index ldb, T* packed) {
        if (valid == strip) {
            for (Index p = 0; p < k; ++p, b += ldb, packed += strip) {
                for (Index j = 0; j < strip; j += V::lanes) V::store(packed + j, V::load(b + j));
            }
            return;
        }
        const Index width = packed_width(valid);
        for (Index p = 0; p < k; ++p, b += ldb, packed += width) {
            for (Index j = 0; j < valid; ++j) packed[j] = b[j];
            for (Index j = valid; j < width; ++j) packed[j] = T{};
        }
    }

    /// A few rows at a time, so that B is read in long runs.
    static void pack_b(Index k, Index n, const T* b, Index ldb, T* packed) {
        for (Index p = 0; p < k; p += pack_rows) {
            const Index rows = k - p < pack_rows ? k - p : pack_rows;
            for (Index j = 0; j < n; j += strip) {
                const Index valid = n - j < strip ? n - j : strip;
                pack_strip(rows, valid, b + p * ldb + j, ldb, packed + j * k + p * packed_width(valid));
            }
        }
    }

    /// Left-looking by blocks of rows: B_i -= L(i, 0..i-1) X_(0..i-1) is a tile of gemm, whose small triangle is solved
    /// in registers.
    static void solve_strip(Index done, Index k, Index n, const T* l, Index ldl, const T* scale, T* b, Index ldb,
                            T* packed) {
        if (n <= half_strip) return solve_tiles<1>(done, k, n, l, ldl, scale, b, ldb, packed);
        return solve_tiles<2>(done, k, n, l, ldl, scale, b, ldb, packed);
    }

    template <int Vectors>
    static void solve_tiles(Index done, Index k, Index n, const T* l, Index ldl, const T* scale, T* b, Index ldb,
                            T* packed) {
        for (; done < k; done += TileRows) {
            const T* const row = l + done * ldl;
            const T* const factors = scale == nullptr ? nullptr : scale + done;
            if (k - done < TileRows) {
                solve_rest(done, k - done, n, row, ldl, factors, b + done * ldb, ldb, packed);
            } else {
                solve_tile<Vectors>(done, n, row, ldl, factors, b + done * ldb, ldb, packed);
            }
        }
    }

    /// Rows done .. done + TileRows - 1 of the solution; l, scale and b begin there, packed at row 0.
    template <int Vectors>
    __attribute__((noinline)) static void solve_tile(Index done, Index n, const T* l, Index ldl, const T* scale, T* b,
                                                     Index ldb, T* packed) {
        constexpr int width = Vectors * V::lanes;
        Type x[TileRows][Vectors] = {};
        accumulate<TileRows, Vectors, width>(done, l, ldl, packed, x);
        T* const block = packed + done * width;
        const bool whole = n == width;
        if (!whole) pack_strip(TileRows, n, b, ldb, block);
        const T* const from = whole ? b : block;
        const Index from_ld = whole ? ldb : width;
#pragma GCC unroll 16
        for (int i = 0; i < TileRows; ++i) {
#pragma GCC unroll 2
            for (int v = 0; v < Vectors; ++v) x[i][v] = V::load(from + i * from_ld + v * V::lanes) - x[i][v];
        }
#pragma GCC unroll 16
        for (int q = 0; q < TileRows; ++q) {
#pragma GCC unroll 2
            for (int v = 0; v < Vectors; ++v) {
                if (scale != nullptr) x[q][v] *= V::splat(scale[q]);
                V::store(block + q * width + v * V::lanes, x[q][v]);
                if (whole) V::store(b + q * ldb + v * V::lanes, x[q][v]);
            }
#pragma GCC unroll 16
            for (int i = q + 1; i < TileRows; ++i) {
                const Type element = V::splat(l[i * ldl + done + q]);
#pragma GCC unroll 2
                for (int v = 0; v < Vectors; ++v) x[i][v] = V::minus_product(x[i][v], element, x[q][v]);
            }
        }
        for (int i = 0; i < TileRows && !whole; ++i) {
            for (Index j = 0; j < n; ++j) b[i * ldb + j] = block[i * width + j];
        }
    }

    /// As solve_tile() for fewer rows, in memory.
    static void solve_rest(Index done, Index rows, Index n, const T* l, Index ldl, const T* scale, T* b, Index ldb,
                           T* packed) {
        const Index width = packed_width(n);
        T* const block = packed + done * width;
        pack_strip(rows, n, b, ldb, block);
        strip_rows(rows, done, l, ldl, packed, block, width, width);
        for (Index i = 0; i < rows; ++i) {
            for (Index j = 0; j < width; j += V::lanes) {
                Type x = V::load(block + i * width + j);
                for (Index q = 0; q < i; ++q) {
                    x = V::minus_product(x, V::splat(l[i * ldl + done + q]), V::load(block + q * width + j));
                }
                if (scale != nullptr) x *= V::splat(scale[i]);
                V::store(block + i * width + j, x);
            }
            for (Index j = 0; j < n; ++j) b[i * ldb + j] = block[i * width + j];
        }
    }
};

}  // namespace
}  // namespace basalt::simd
