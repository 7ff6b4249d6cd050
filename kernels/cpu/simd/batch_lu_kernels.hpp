#pragma once

#include <cassert>

#include "kernels/cpu/simd/batch_ahead.hpp"
#include "kernels/cpu/simd/masked_vector.hpp"
#include "kernels/cpu/simd/vector.hpp"

namespace basalt::simd {
namespace {

/// LU of as many small matrices as a register has lanes, interleaved as in Batches.
///
/// Pivoting moves no rows: lanes would move different ones. Rows stay where they are, and each lane knows the place of
/// its rows in the order of the pivots. Multipliers of rows that were pivots are zero, so all rows are updated alike.
/// This takes half more products than LU with exchanges, and no exchange.
template <class T, int Bytes>
struct BatchLu {
    using V = Vector<T, Bytes>;
    using Type = typename V::Type;
    using Mask = typename V::Mask;
    using Bits = typename V::Bits;
    typedef Bits UnalignedMask __attribute__((vector_size(Bytes), aligned(alignof(Bits)), may_alias));
    static constexpr int lanes = V::lanes;
    static constexpr int rank = 4;                     ///< columns of a panel
    static constexpr int strip = Bytes == 64 ? 4 : 2;  ///< columns that a panel updates together

    /// n x cols, element (i, j) at a[(j * n + i) * lanes]; the columns behind the n-th are right-hand sides. Passed by
    /// value: a reference would be read again after each store.
    struct Work {
        Index n, cols;
        T* a;
        T* multipliers;  ///< rank planes of n
        Bits* place;     ///< of row i among the pivots, at place[i * lanes]
        Bits* offset;    ///< the reverse, for pivots so far: the row at place k begins at offset[k * lanes]
        Bits* pivots;    ///< LAPACK's IPIV

        T* at(Index i, Index j) const { return a + (j * n + i) * lanes; }
        T* multiplier(Index i, Index c) const { return multipliers + (c * n + i) * lanes; }
    };

    static Mask load_mask(const Bits* p) { return *reinterpret_cast<const UnalignedMask*>(p); }
    static void store_mask(Bits* p, Mask v) { *reinterpret_cast<UnalignedMask*>(p) = v; }

    static bool any(Mask mask) {
#if defined(__AVX512F__)
        if constexpr (Bytes == 64) {
            return _mm512_test_epi32_mask(reinterpret_cast<__m512i>(mask), reinterpret_cast<__m512i>(mask)) != 0;
        }
#endif
        Bits some = 0;
        for (int l = 0; l < lanes; ++l) some |= mask[l];
        return some != 0;
    }

    static Mask smaller(Mask x, Mask y) { return x < y ? x : y; }

    template <int... Lane>
    __attribute__((always_inline)) static Type pick(const T* column, const Bits* offset,
                                                    std::integer_sequence<int, Lane...>) {
        return Type{column[offset[Lane]]...};
    }
    /// The element of a column in row k of the order of the pivots.
    template <bool pivoting>
    __attribute__((always_inline)) static Type element(Work w, const T* column, Index k) {
        if constexpr (!pivoting) return V::load(column + k * lanes);
        return pick(column, w.offset + k * lanes, std::make_integer_sequence<int, lanes>{});
    }

    /// Finds each lane's pivot in column k, whose largest magnitude is known, and gives its row the place k. The first
    /// one among equals wins. A NaN is the pivot only on the diagonal.
    ///
    /// Registers of places are written whole: a register cannot be loaded soon after one of its lanes was stored.
    static void choose(Work w, Index k, Type largest) {
        const Mask first = Mask{} + static_cast<Bits>(k), none = Mask{} + static_cast<Bits>(w.n);
        Type diagonal{};
        const auto candidate = [&](Index i) {
            const Mask place = load_mask(w.place + i * lanes);
            const Type x = V::load(w.at(i, k));
            diagonal = place == first ? x : diagonal;
            const Mask eligible = (V::magnitude(x) == largest) & (place >= first);
            return eligible ? place : none;
        };
        Mask even = none, odd = none;  // two, for the sake of latency
        for (Index i = 0; i + 2 <= w.n; i += 2) {
            even = smaller(even, candidate(i));
            odd = smaller(odd, candidate(i + 1));
        }
        if (w.n % 2 != 0) even = smaller(even, candidate(w.n - 1));
        const Mask best = smaller(even, odd);
        const Mask chosen = (best == none) | (diagonal != diagonal) ? first : best;
        store_mask(w.pivots + k * lanes, chosen + 1);
        Mask row{}, here = V::lane_numbers();
        for (Index i = 0; i < w.n; ++i, here += lanes) {
            const Mask place = load_mask(w.place + i * lanes), is_chosen = place == chosen;
            row = is_chosen ? here : row;
            store_mask(w.place + i * lanes, is_chosen ? first : place == first ? chosen : place);
        }
        store_mask(w.offset + k * lanes, row);
    }

    /// The largest magnitude of column k in rows that were no pivots before.
    static Type search(Work w, Index k) {
        const Bits first = static_cast<Bits>(k);
        Type largest{};
        for (Index i = 0; i < w.n; ++i) {
            const Type x = load_mask(w.place + i * lanes) >= first ? V::magnitude(V::load(w.at(i, k))) : Type{};
            largest = x > largest ? x : largest;
        }
        return largest;
    }

    /// Column k, the c-th of its panel, becomes multipliers, and the `rest` columns of the panel behind it are updated.
    /// Returns the largest magnitude of the next one.
    template <bool pivoting, int rest>
    static Type eliminate(Work w, Index k, int c, Type pivot) {
        const Mask tiny = (V::magnitude(pivot) < V::smallest_normal) & (pivot != T{});
        const bool divides = any(tiny);
        const Type divisor = pivot == T{} ? V::splat(T{1}) : pivot;
        const Type reciprocal = T{1} / divisor;
        Type u[rest + 1];
#pragma GCC unroll 4
        for (int q = 0; q < rest; ++q) u[q] = element<pivoting>(w, w.at(0, k + 1 + q), k);
        Type largest{};
        for (Index i = pivoting ? 0 : k - c; i < w.n; ++i) {
            const Mask below = pivoting ? Mask(load_mask(w.place + i * lanes) > static_cast<Bits>(k))
                                        : Mask{} - static_cast<Bits>(i > k);
            const Type x = V::load(w.at(i, k));
            const Type scaled = divides ? x / divisor : x * reciprocal;
            const Type m = below ? scaled : Type{};
            V::store(w.multiplier(i, c), m);
            V::store(w.at(i, k), below ? scaled : x);
#pragma GCC unroll 4
            for (int q = 0; q < rest; ++q) {
                T* const at = w.at(i, k + 1 + q);
                const Type updated = V::minus_product(V::load(at), m, u[q]);
                V::store(at, updated);
                if (q > 0 || !pivoting) continue;
                const Type magnitude = below ? V::magnitude(updated) : Type{};
                largest = magnitude > largest ? magnitude : largest;
            }
        }
        return largest;
    }

    /// Columns j .. j + width - 1, which are updated by all before them.
    template <bool pivoting, int width>
    static void factor_panel(Work w, Index j, Mask& failed, Fetch<T>& fetch) {
        Type largest = pivoting ? search(w, j) : Type{};
        const auto step = [&]<int c>(std::integral_constant<int, c>) {
            if constexpr (c < width) {
                const Index k = j + c;
                if constexpr (pivoting) choose(w, k, largest);
                const Type pivot = element<pivoting>(w, w.at(0, k), k);
                const Mask zero = (pivot == T{}) & (failed == 0);
                failed = zero ? Mask{} + static_cast<Bits>(k + 1) : failed;
                largest = eliminate<pivoting, width - 1 - c>(w, k, c, pivot);
                fetch.step();
            }
        };
        step(std::integral_constant<int, 0>{});
        step(std::integral_constant<int, 1>{});
        step(std::integral_constant<int, 2>{});
        step(std::integral_constant<int, 3>{});
    }

    /// `count` columns at `first` by the panel at j: the rows of its pivots become rows of U, all others lose products
    /// with them.
    template <bool pivoting, int width, int count>
    static void update_strip(Work w, Index j, const Type (&l)[rank][rank], Index first) {
        Type u[width][count];
#pragma GCC unroll 4
        for (int c = 0; c < width; ++c) {
#pragma GCC unroll 4
            for (int q = 0; q < count; ++q) {
                u[c][q] = element<pivoting>(w, w.at(0, first + q), j + c);
#pragma GCC unroll 4
                for (int d = 0; d < c; ++d) u[c][q] = V::minus_product(u[c][q], l[c][d], u[d][q]);
            }
        }
        for (Index i = pivoting ? 0 : j; i < w.n; ++i) {
            Type x[count];
#pragma GCC unroll 4
            for (int q = 0; q < count; ++q) x[q] = V::load(w.at(i, first + q));
#pragma GCC unroll 4
            for (int c = 0; c < width; ++c) {
                const Type m = V::load(w.multiplier(i, c));
#pragma GCC unroll 4
                for (int q = 0; q < count; ++q) x[q] = V::minus_product(x[q], m, u[c][q]);
            }
#pragma GCC unroll 4
            for (int q = 0; q < count; ++q) V::store(w.at(i, first + q), x[q]);
        }
    }

    template <bool pivoting, int width>
    static void step(Work w, Index j, Mask& failed, Fetch<T>& fetch) {
        factor_panel<pivoting, width>(w, j, failed, fetch);
        Type l[rank][rank];
        for (int c = 0; c < width; ++c) {
            for (int d = 0; d < c; ++d) l[c][d] = element<pivoting>(w, w.multiplier(0, d), j + c);
        }
        Index first = j + width;
        for (; first + strip <= w.cols; first += strip) {
            update_strip<pivoting, width, strip>(w, j, l, first);
            fetch.step();
        }
        for (; first < w.cols; ++first) update_strip<pivoting, width, 1>(w, j, l, first);
    }

    /// Calls of Fetch::step(): one for each column, and one for each strip that a panel updates.
    static Index steps_of(Work w) {
        Index steps = w.n;
        for (Index j = rank; j < w.n; j += rank) steps += (w.cols - j) / strip;
        return steps + (w.cols - w.n) / strip;
    }

    template <bool pivoting>
    static void factor_columns(Work w, Index* info, const Ahead<T>& ahead) {
        Fetch<T> fetch(ahead, steps_of(w));
        for (Index i = 0; pivoting && i < w.n; ++i) {
            store_mask(w.place + i * lanes, Mask{} + static_cast<Bits>(i));
        }
        Mask failed{};
        Index j = 0;
        for (; j + rank <= w.n; j += rank) step<pivoting, rank>(w, j, failed, fetch);
        if (w.n - j == 3) step<pivoting, 3>(w, j, failed, fetch);
        if (w.n - j == 2) step<pivoting, 2>(w, j, failed, fetch);
        if (w.n - j == 1) step<pivoting, 1>(w, j, failed, fetch);
        for (int l = 0; l < lanes; ++l) info[l] = failed[l];
        assert(fetch.done());
    }

    static void factor(Index n, Index columns, T* a, T* multipliers, Bits* order, Index* info, const Ahead<T>& ahead) {
        const Index size = n * lanes;
        const Work w{n, n + columns, a, multipliers, order, order + size, order + 2 * size};
        factor_columns<true>(w, info, ahead);
    }
    static void factor_unpivoted(Index n, Index columns, T* a, T* multipliers, Index* info, const Ahead<T>& ahead) {
        factor_columns<false>({n, n + columns, a, multipliers, nullptr, nullptr, nullptr}, info, ahead);
    }

#if defined(__AVX512F__)
    using Masked = MaskedVector<T>;
    using Some = typename Masked::Some;

    /// The columns of a matrix of up to registers * lanes rows: row k := the one of number row[k].
    template <int registers>
    static void order_columns(Index n, T* a, Index ld, const Bits* row) {
        Some some[registers];
        Mask from[registers];
        for (int r = 0; r < registers; ++r) {
            some[r] = Masked::first(n - r * lanes);
            from[r] = reinterpret_cast<Mask>(Masked::load_some(some[r], reinterpret_cast<const T*>(row) + r * lanes));
        }
        Type x[registers], y[registers];
        const auto load = [&](const T* column) {
#pragma GCC unroll 4
            for (int r = 0; r < registers; ++r) x[r] = Masked::load_some(some[r], column + r * lanes);
        };
        // The next column is loaded before this one is stored: a processor compares all of a register, also what it
        // leaves out, and would wait for the store.
        load(a);
        for (Index left = n; left > 0; --left, a += ld) {
#pragma GCC unroll 4
            for (int r = 0; r < registers; ++r) {
                y[r] = Masked::pick_from(x[0], x[registers > 1 ? 1 : 0], reinterpret_cast<__m512i>(from[r]));
                if constexpr (registers > 2) {
                    y[r] = from[r] < 2 * lanes
                               ? y[r]
                               : Masked::pick_from(x[2], x[3], reinterpret_cast<__m512i>(from[r]));  // modulo 2 * lanes
                }
            }
            if (left > 1) load(a + ld);
#pragma GCC unroll 4
            for (int r = 0; r < registers; ++r) Masked::store_some(some[r], a + r * lanes, y[r]);
        }
    }
#endif

    static void order_rows(Index n, T* a, Index ld, const Bits* offset, Bits* row, T* copy) {
        bool moved = false;
        for (Index k = 0; k < n; ++k) {
            row[k] = offset[k * lanes] / lanes;
            moved = moved || row[k] != k;
        }
        if (!moved) return;
#if defined(__AVX512F__)
        if constexpr (Bytes == 64) {
            if (n <= lanes) return order_columns<1>(n, a, ld, row);
            if (n <= 2 * lanes) return order_columns<2>(n, a, ld, row);
            if (n <= 4 * lanes) return order_columns<4>(n, a, ld, row);
        }
#endif
        for (T* const end = a + n * ld; a != end; a += ld) {
            for (Index i = 0; i < n; ++i) copy[i] = a[i];
            for (Index k = 0; k < n; ++k) a[k] = copy[row[k]];
        }
    }

    /// x := U^-1 b for `count` columns. The rows of U and b are not in order: every row loses the product with each
    /// unknown, also rows whose own unknown is known and which are not read again.
    template <bool pivoting, int count>
    static void solve_strip(Work w, Index first, T* x) {
        for (Index k = w.n - 1; k >= 0; --k) {
            const Type pivot = element<pivoting>(w, w.at(0, k), k);
            Type unknown[count];
#pragma GCC unroll 4
            for (int q = 0; q < count; ++q) {
                unknown[q] = element<pivoting>(w, w.at(0, first + q), k) / pivot;
                V::store(x + (q * w.n + k) * lanes, unknown[q]);
            }
            for (Index i = 0; i < (pivoting ? w.n : k); ++i) {
                const Type u = V::load(w.at(i, k));
#pragma GCC unroll 4
                for (int q = 0; q < count; ++q) {
                    T* const at = w.at(i, first + q);
                    V::store(at, V::minus_product(V::load(at), u, unknown[q]));
                }
            }
        }
    }

    static void solve(Index n, Index columns, T* a, Bits* order, T* x) {
        const Work w{n, n + columns, a, nullptr, order, order != nullptr ? order + n * lanes : nullptr, nullptr};
        const auto columns_at = [&]<int count>(std::integral_constant<int, count>, Index c) {
            if (order != nullptr) return solve_strip<true, count>(w, n + c, x + c * n * lanes);
            solve_strip<false, count>(w, n + c, x + c * n * lanes);
        };
        Index c = 0;
        for (; c + 4 <= columns; c += 4) columns_at(std::integral_constant<int, 4>{}, c);
        for (; c < columns; ++c) columns_at(std::integral_constant<int, 1>{}, c);
    }
};

}  // namespace
}  // namespace basalt::simd
