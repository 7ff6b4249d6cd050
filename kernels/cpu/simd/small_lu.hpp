#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "kernels/cpu/simd/masked_vector.hpp"

#if defined(__AVX512F__)

namespace basalt::simd {
namespace {

/// LU with partial pivoting of one matrix of up to `registers` registers of rows, right-looking by panels of four
/// columns, which stay in registers: no lane is another matrix, so nothing is interleaved. Rows do not move: rows that
/// were pivots have multipliers of zero. They are ordered when the factors are written. The first among equal elements,
/// by the places of the rows, is the pivot, and a NaN only on the diagonal.
///
/// Works on a copy whose columns are aligned, because a register that crosses a line of the cache takes twice as long.
template <class T, int registers>
class SmallLu {
  public:
    explicit SmallLu(Index n) : n_(n) {
        for (int r = 0; r < registers; ++r) rows_[r] = live_[r] = V::first(n - r * lanes);
    }

    /// Factors several matrices of one order, step by step in turn: a step is a chain of instructions that wait for
    /// each other, and a processor works on several chains at once.
    template <int count>
    static void factor(SmallLu (&lu)[count], const T* const* a, Index lda, const T* const (&next)[count]) {
        const Index n = lu[0].n_, whole = n / 4 * 4;
        const T* own[count];
        for (int i = 0; i < count; ++i) {
            own[i] = lu[i].lu_;
            for (Index j = 0; j < n && j < 4; ++j) lu[i].copy_column(a[i] + j * lda, lu[i].column(j));
        }
        for (Index j = 0; j < whole; j += 4) {
            if (j == 0) panel<4>(lu, j, a, lda);  // also copies the other columns
            if (j > 0) panel<4>(lu, j, own, ld);
            for (const T* matrix : next) lu[0].fetch(matrix, j, lda);
        }
        for (const T* matrix : next) lu[0].fetch(matrix, whole, lda);
        if (n - whole == 3) panel<3>(lu, whole, own, ld);
        if (n - whole == 2) panel<2>(lu, whole, own, ld);
        if (n - whole == 1) panel<1>(lu, whole, own, ld);
    }

    /// LAPACK's.
    Index info() const { return info_; }

    /// The factors with rows in the order of the pivots.
    void store(T* to, Index ldto) const {
        __m512i from[registers];
        Some high[registers] = {};  // rows of the third and fourth register
        for (int r = 0; r < registers; ++r) {
            from[r] = _mm512_load_si512(pivot_row_ + r * lanes);
            for (int l = 0; l < lanes; ++l) high[r] |= static_cast<Some>((pivot_row_[r * lanes + l] >= 2 * lanes) << l);
        }
        for (Index j = 0; j < n_; ++j) {
            Type x[registers];
#pragma GCC unroll 4
            for (int r = 0; r < registers; ++r) x[r] = V::load(lu_ + j * ld + r * lanes);
#pragma GCC unroll 4
            for (int r = 0; r < registers; ++r) {
                Type y = V::pick_from(x[0], x[registers > 1 ? 1 : 0], from[r]);
                if constexpr (registers > 2) {
                    y = V::blend(high[r], V::pick_from(x[2], x[registers > 3 ? 3 : 2], from[r]), y);
                }
                V::store_some(rows_[r], to + j * ldto + r * lanes, y);
            }
        }
    }

    /// LAPACK's IPIV.
    void store_pivots(Index* to) {
        exchange(n_);
        for (Index k = 0; k < n_; ++k) to[k] = ipiv_[k];
    }

    /// X := A^-1 B in place for `cols` columns of each matrix.
    template <int count>
    static void solve(const SmallLu (&lu)[count], Index cols, T* const* b, Index ldb) {
        const Index n = lu[0].n_;
        alignas(64) T x[count][ld], y[count][ld];
        for (Index q = 0; q < cols; ++q) {
            for (int i = 0; i < count; ++i) lu[i].copy_column(b[i] + q * ldb, y[i]);
            for (Index j = 0; j < n; j += 4) {
                for (int i = 0; i < count; ++i) lu[i].apply(j, y[i]);
            }
            for (Index k = n - 1; k >= 0; --k) {
#pragma GCC unroll 4
                for (int i = 0; i < count; ++i) x[i][k] = lu[i].substitute(k, y[i]);
            }
            for (int i = 0; i < count; ++i) {
                for (int r = 0; r < registers && lu[i].info_ == 0; ++r) {
                    V::store_some(lu[i].rows_[r], b[i] + q * ldb + r * lanes, V::load(x[i] + r * lanes));
                }
            }
        }
    }

  private:
    using V = MaskedVector<T>;
    using Type = typename V::Type;
    using Some = typename V::Some;
    using Row = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    static constexpr int lanes = V::lanes;
    static constexpr int ld = registers * lanes;

    struct Pivot {
        Row row;
        T divisor;
        bool divides;  ///< it has no reciprocal
    };

    T* column(Index j) { return lu_ + j * ld; }

    __attribute__((always_inline)) void copy_column(const T* from, T* to) const {
#pragma GCC unroll 4
        for (int r = 0; r < registers; ++r) {
            V::store(to + r * lanes, V::load_some(rows_[r], from + r * lanes));
        }
    }

    /// Columns j .. j + 3 of a matrix, as far as there are, to the second cache.
    __attribute__((always_inline)) void fetch(const T* matrix, Index j, Index lda) const {
        for (Index c = j; matrix != nullptr && c < j + 4 && c < n_; ++c) {
            for (Index i = 0; i < n_; i += lanes) __builtin_prefetch(matrix + c * lda + i, 1, 2);
            __builtin_prefetch(matrix + c * lda + n_ - 1, 1, 2);
        }
    }

    /// Columns j .. j + width - 1, and their products with all behind them, which are read from `from` (n x n).
    template <int width, int count>
    __attribute__((always_inline)) static void panel(SmallLu (&lu)[count], Index j, const T* const* from,
                                                     Index ldfrom) {
        Type x[count][width][registers];
#pragma GCC unroll 4
        for (int i = 0; i < count; ++i) {
#pragma GCC unroll 4
            for (int c = 0; c < width; ++c) {
#pragma GCC unroll 4
                for (int r = 0; r < registers; ++r) x[i][c][r] = V::load(lu[i].column(j + c) + r * lanes);
            }
        }
        const auto step = [&]<int c>(std::integral_constant<int, c>) __attribute__((always_inline)) {
            if constexpr (c < width) {
#pragma GCC unroll 4
                for (int i = 0; i < count; ++i) lu[i].template eliminate<c, width>(j, x[i]);
            }
        };
        step(std::integral_constant<int, 0>{});
        step(std::integral_constant<int, 1>{});
        step(std::integral_constant<int, 2>{});
        step(std::integral_constant<int, 3>{});
#pragma GCC unroll 4
        for (int i = 0; i < count; ++i) lu[i].template update<width>(j, x[i], j + width, from[i], ldfrom);
    }

    /// Column j + c of a panel, x[c], becomes multipliers, and those of the panel behind it lose their products.
    template <int c, int width>
    __attribute__((always_inline)) void eliminate(Index j, Type (&x)[width][registers]) {
        T* const at = column(j + c);
        typename V::Magnitudes magnitude[registers];
#pragma GCC unroll 4
        for (int r = 0; r < registers; ++r) magnitude[r] = V::magnitudes(live_[r], x[c][r]);
        typename V::Magnitudes best = magnitude[0];
#pragma GCC unroll 4
        for (int r = 1; r < registers; ++r) best = V::larger(best, magnitude[r]);
        best = V::largest(best);
        // Begun before the row is known: only the sign is missing then.
        const Type reciprocal_magnitude = V::splat(T{1} / reinterpret_cast<Type>(best)[0]);
        Some found[registers];
        std::uint64_t all = 0;
#pragma GCC unroll 4
        for (int r = 0; r < registers; ++r) {
            found[r] = V::equal(live_[r], magnitude[r], best);
            all |= static_cast<std::uint64_t>(found[r]) << (r * lanes);
        }
        Row row;
        const bool is_normal = static_cast<typename V::Bits>(best[0] - smallest) <= infinity - smallest;
        if (__builtin_expect(is_normal, 1)) {
            if (__builtin_expect((all & (all - 1)) != 0, 0)) {
                all = std::uint64_t{1} << first_of(j + c, all);
#pragma GCC unroll 4
                for (int r = 0; r < registers; ++r) found[r] = static_cast<Some>(all >> (r * lanes));
            }
            row = static_cast<Row>(__builtin_ctzll(all));
            const auto sign =
                reinterpret_cast<__m512i>(V::splat(at[row])) & reinterpret_cast<__m512i>(V::splat(T{-0.0}));
            const auto reciprocal = reinterpret_cast<Type>(reinterpret_cast<__m512i>(reciprocal_magnitude) | sign);
#pragma GCC unroll 4
            for (int r = 0; r < registers; ++r) {
                live_[r] = static_cast<Some>(live_[r] & ~found[r]);
                store_multipliers(live_[r], at + r * lanes, x[c][r], reciprocal);
            }
        } else {
            const Pivot pivot = search(j + c);
            row = pivot.row;
            const Type divisor = V::splat(pivot.divides ? pivot.divisor : T{1});
            const Type reciprocal = V::splat(pivot.divides ? T{1} : T{1} / pivot.divisor);
#pragma GCC unroll 4
            for (int r = 0; r < registers; ++r) {
                if (row / lanes == r) live_[r] = static_cast<Some>(live_[r] & ~(1U << row % lanes));
                // kept where it is no multiplier: a division by one changes nothing
                x[c][r] = V::blend(live_[r], x[c][r] / divisor, x[c][r]);
                store_multipliers(live_[r], at + r * lanes, x[c][r], reciprocal);
            }
        }
#pragma GCC unroll 4
        for (int r = 0; r < registers; ++r) below_[j + c][r] = live_[r];
        pivot_row_[j + c] = row;
#pragma GCC unroll 4
        for (int q = c + 1; q < width; ++q) {
            T* const other = column(j + q);
            const Type u = V::splat(other[row]);
#pragma GCC unroll 4
            for (int r = 0; r < registers; ++r) {
                x[q][r] = V::minus_product(x[q][r], x[c][r], u);
                V::store(other + r * lanes, x[q][r]);
            }
        }
    }

    __attribute__((always_inline)) static void store_multipliers(Some below, T* at, Type& x, Type reciprocal) {
        const Type multipliers = V::multiply_some(below, x, reciprocal);
        V::store(at, V::blend(below, multipliers, x));
        x = multipliers;
    }

    /// The row of those in `candidates` that comes first in column k.
    __attribute__((noinline)) Row first_of(Index k, std::uint64_t candidates) {
        exchange(k);
        Row best = static_cast<Row>(__builtin_ctzll(candidates));
        for (; candidates != 0; candidates &= candidates - 1) {
            const Row row = static_cast<Row>(__builtin_ctzll(candidates));
            best = place_of_[row] < place_of_[best] ? row : best;
        }
        return best;
    }

    /// The pivot of column k if the largest element is zero, subnormal or NaN.
    __attribute__((noinline)) Pivot search(Index k) {
        exchange(k);
        const T* const x = column(k);
        const auto magnitude = [&](Index place) { return Single<T>::magnitude(x[row_at_[place]]); };
        T largest{};
        for (Index place = k; place < n_; ++place) largest = magnitude(place) > largest ? magnitude(place) : largest;
        Index chosen = k;
        const T diagonal = x[row_at_[k]];
        for (Index place = n_ - 1; place >= k && diagonal == diagonal; --place) {
            chosen = magnitude(place) == largest ? place : chosen;
        }
        const Row row = row_at_[chosen];
        if (x[row] == T{} && info_ == 0) info_ = k + 1;
        const T divisor = x[row] == T{} ? T{1} : x[row];
        return {row, divisor, Single<T>::magnitude(divisor) < V::smallest_normal};
    }

    /// Finds the order of rows after `steps` exchanges, and LAPACK's IPIV of these, from that after earlier ones. Not
    /// done in each step: loads would wait for stores whose addresses are known late.
    __attribute__((always_inline)) void exchange(Index steps) {
        for (int i = 0; exchanged_ == 0 && i < ld; ++i) row_at_[i] = place_of_[i] = i;
        for (; exchanged_ < steps; ++exchanged_) {
            const Row row = pivot_row_[exchanged_], place = place_of_[row], other = row_at_[exchanged_];
            ipiv_[exchanged_] = place + 1;
            row_at_[place] = other;
            place_of_[other] = place;
            row_at_[exchanged_] = row;
            place_of_[row] = static_cast<Row>(exchanged_);
        }
    }

    /// Columns from `first` on lose the products of the panel at j with multipliers m.
    template <int width>
    __attribute__((always_inline)) void update(Index j, const Type (&m)[width][registers], Index first, const T* from,
                                               Index ldfrom) {
        Panel<width> p;
        load_panel(j, p);
        for (Index q = first; q < n_; ++q) {
            Type y[registers];
#pragma GCC unroll 4
            for (int r = 0; r < registers; ++r) {
                const T* const at = from + q * ldfrom + r * lanes;
                y[r] = j > 0 ? V::load(at) : V::load_some(rows_[r], at);  // A is read once, its copy then
            }
            subtract(p, m, from + q * ldfrom, y);
#pragma GCC unroll 4
            for (int r = 0; r < registers; ++r) V::store(column(q) + r * lanes, y[r]);
        }
    }

    /// One column of right-hand sides loses the products of the panel at j.
    void apply(Index j, T* y) const {
        if (j + 4 <= n_) return apply_panel<4>(j, y);
        if (n_ - j == 3) return apply_panel<3>(j, y);
        if (n_ - j == 2) return apply_panel<2>(j, y);
        apply_panel<1>(j, y);
    }

    template <int width>
    __attribute__((always_inline)) void apply_panel(Index j, T* y) const {
        Panel<width> p;
        load_panel(j, p);
        Type m[width][registers], x[registers];
#pragma GCC unroll 4
        for (int r = 0; r < registers; ++r) {
            x[r] = V::load(y + r * lanes);
#pragma GCC unroll 4
            for (int c = 0; c < width; ++c) m[c][r] = V::load_some(below_[j + c][r], lu_ + (j + c) * ld + r * lanes);
        }
        subtract(p, m, y, x);
#pragma GCC unroll 4
        for (int r = 0; r < registers; ++r) V::store(y + r * lanes, x[r]);
    }

    /// The unknown k, whose products all rows lose: also rows whose unknown is known, which are not read again.
    __attribute__((always_inline)) T substitute(Index k, T* y) const {
        const T* const at = lu_ + k * ld;
        const T unknown = y[pivot_row_[k]] / at[pivot_row_[k]];
        const Type factor = V::splat(unknown);
#pragma GCC unroll 4
        for (int r = 0; r < registers; ++r) {
            V::store(y + r * lanes, V::minus_product(V::load(y + r * lanes), V::load(at + r * lanes), factor));
        }
        return unknown;
    }

    /// Rows of a panel's pivots, and its multipliers there.
    template <int width>
    struct Panel {
        Index row[width];
        T l[width][width];
    };

    template <int width>
    __attribute__((always_inline)) void load_panel(Index j, Panel<width>& panel) const {
#pragma GCC unroll 4
        for (int c = 0; c < width; ++c) {
            panel.row[c] = pivot_row_[j + c];
#pragma GCC unroll 4
            for (int d = 0; d < c; ++d) panel.l[c][d] = lu_[(j + d) * ld + panel.row[c]];
        }
    }

    /// The column at `from`, which is also in y, loses the products of a panel with multipliers m.
    template <int width>
    __attribute__((always_inline)) static void subtract(const Panel<width>& panel, const Type (&m)[width][registers],
                                                        const T* from, Type (&y)[registers]) {
        T u[width];
#pragma GCC unroll 4
        for (int c = 0; c < width; ++c) {
            u[c] = from[panel.row[c]];
#pragma GCC unroll 4
            for (int d = 0; d < c; ++d) u[c] = Single<T>::minus_product(u[c], panel.l[c][d], u[d]);
        }
#pragma GCC unroll 4
        for (int c = 0; c < width; ++c) {
            const Type factor = V::splat(u[c]);
#pragma GCC unroll 4
            for (int r = 0; r < registers; ++r) y[r] = V::minus_product(y[r], m[c][r], factor);
        }
    }

    static constexpr auto infinity = __builtin_bit_cast(typename V::Bits, static_cast<T>(__builtin_inf()));
    static constexpr auto smallest = __builtin_bit_cast(typename V::Bits, V::smallest_normal);

    const Index n_;
    Index info_ = 0;
    alignas(64) T lu_[ld * ld];
    alignas(64) Row pivot_row_[ld] = {};  ///< rows in the order of the pivots so far
    Index exchanged_ = 0;                 ///< steps that are known to the following
    Row row_at_[ld], place_of_[ld];       ///< rows by their places, and the reverse
    Row ipiv_[ld];
    Some rows_[registers];       ///< that the matrix has
    Some live_[registers];       ///< that were no pivots yet
    Some below_[ld][registers];  ///< that were no pivots yet behind each column
};

}  // namespace
}  // namespace basalt::simd

#endif
