#include "kernels/cpu/batch/cholesky.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <type_traits>

#include "kernels/cpu/batch/lane_blocks.hpp"
#include "kernels/cpu/blas/blas.hpp"
#include "kernels/cpu/blas/serial.hpp"
#include "kernels/cpu/simd/kernels.hpp"

// LAPACK's, as in OpenBLAS, whose header declares only BLAS.
extern "C" {
void spotrf_(const char* uplo, const int* n, float* a, const int* lda, int* info, std::size_t uplo_length);
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info, std::size_t uplo_length);
}

namespace basalt::cpu_kernels {

namespace {

// Order up to which interleaved matrices are faster than OpenBLAS one by one: decision 33.
constexpr Index most_interleaved = 256;

/// Fewer matrices of order n are faster one by one: the interleaved ones take as long as if all lanes were in use.
template <class T>
Index least_interleaved(Index n, Index lanes) {
    // how many times as fast as one by one full lanes are, in eighths, a little less than measured (before
    // small_cholesky, which now takes part in solutions one by one)
    constexpr bool single = sizeof(T) == sizeof(float);
    const Index gain = n <= 4     ? 16
                       : n <= 16  ? 32
                       : n <= 32  ? (single ? 26 : 22)
                       : n <= 64  ? (single ? 24 : 18)
                       : n <= 96  ? (single ? 20 : 16)
                       : n <= 192 ? (single ? 14 : 12)
                                  : (single ? 11 : 10);
    return std::max<Index>(2, (8 * lanes + gain - 1) / gain);
}

/// Order up to which plain loops are faster than a call of OpenBLAS.
constexpr Index most_plain = 20;

template <class T>
int lapack_potrf(const char* uplo, int n, T* a, int lda) {
    int info = 0;
    if constexpr (sizeof(T) == sizeof(float)) {
        spotrf_(uplo, &n, a, &lda, &info, 1);
    } else {
        dpotrf_(uplo, &n, a, &lda, &info, 1);
    }
    return info;
}

/// Right-looking, column by column. L(i, j) is l[i * rs + j * cs].
template <class T>
Index factor_plainly(Index n, T* l, Index rs, Index cs) {
    for (Index j = 0; j < n; ++j) {
        T* const column = l + j * cs;
        if (!(column[j * rs] > T{})) return j + 1;
        const T pivot = std::sqrt(column[j * rs]), reciprocal = T{1} / pivot;
        column[j * rs] = pivot;
        for (Index i = j + 1; i < n; ++i) column[i * rs] *= reciprocal;
        for (Index c = j + 1; c < n; ++c) {
            const T factor = column[c * rs];
            for (Index i = c; i < n; ++i) l[i * rs + c * cs] -= factor * column[i * rs];
        }
    }
    return 0;
}

/// Whether simd::Kernels::small_cholesky takes matrices of order n. Up to one and a half registers of rows the
/// interleaved kernel is as fast.
template <class T>
bool is_small(Triangle triangle, Index n) {
    const auto& k = simd::kernels<T>();
    return triangle == Triangle::lower && 2 * n > 3 * k.lanes && n <= k.small_order;
}

/// OpenBLAS takes NaN for a positive pivot. The first pivot that is NaN stays on the diagonal.
template <class T>
Index factor_alone(Triangle triangle, View<T> a) {
    const Index n = a.rows();
    const Index ld = a.col_stride();
    if (is_small<T>(triangle, n)) {
        T* const data = a.data();
        Index info = 0;
        simd::kernels<T>().small_cholesky({.n = n, .count = 1, .a = &data, .lda = ld, .info = &info});
        return info;
    }
    if (n <= most_plain) {
        return triangle == Triangle::lower ? factor_plainly(n, a.data(), 1, ld) : factor_plainly(n, a.data(), ld, 1);
    }
    const BlasSerial serial;
    const int info =
        lapack_potrf(triangle == Triangle::lower ? "L" : "U", blas::blas_int(n), a.data(), blas::blas_int(ld));
    const Index good = info > 0 ? info - 1 : n;
    for (Index j = 0; j < good; ++j) {
        if (!(a(j, j) > T{})) return j + 1;
    }
    return info;
}

template <class T>
void solve_alone(Triangle triangle, std::type_identity_t<View<const T>> factor, View<T> b) {
    const bool lower = triangle == Triangle::lower;
    const BlasSerial serial;
    blas::trsm<T>(Side::left, Triangle::lower, Diagonal::stored, T{1}, lower ? factor : transposed(factor), b);
    blas::trsm<T>(Side::left, Triangle::upper, Diagonal::stored, T{1}, lower ? transposed(factor) : factor, b);
}

/// Interleaved matrices of one shape in the memory of the thread.
template <class T>
class InterleavedCholesky {
  public:
    InterleavedCholesky(Triangle triangle, Index n, Index columns)
        : n_(n),
          columns_(columns),
          apart_(apart(n, k_.lanes)),
          part_(triangle == Triangle::lower ? simd::BatchPart::lower : simd::BatchPart::upper),
          // the upper triangle is that of L^T
          rs_(triangle == Triangle::lower ? k_.lanes : apart_ * k_.lanes),
          cs_(triangle == Triangle::lower ? apart_ * k_.lanes : k_.lanes),
          a_(lane_memory<T>((n * apart_ + n + n * columns) * k_.lanes)),
          reciprocals_(a_ + n * apart_ * k_.lanes),
          b_(reciprocals_ + n * k_.lanes) {}

    void load_a(const BatchView<const T>& a, const LaneBlock& block) {
        const auto from = matrices_of(a, block.matrix, k_.lanes);
        k_.interleave(n_, n_, part_, from.data.data(), from.ld, a_, apart_);
    }
    void load_b(const BatchView<const T>& b, const LaneBlock& block) {
        const auto from = matrices_of(b, block.matrix, k_.lanes);
        k_.interleave(n_, columns_, simd::BatchPart::all, from.data.data(), from.ld, b_, n_);
    }
    /// What load_a() took; `a` is the batch, from which the next block is fetched.
    void factor(const BatchView<const T>& a, const LaneBlock& block, Index* info) {
        const NextMatrices<T> next(a, block, part_);
        k_.batch_cholesky(n_, a_, rs_, cs_, reciprocals_, lane_info_.data(), next.ahead());
        store_info(block, lane_info_, info);
    }
    /// Factors that load_a() took.
    void take_factor() { k_.batch_reciprocals(n_, a_, rs_, cs_, reciprocals_); }
    /// INFO of these, where it is known.
    void take_info(const LaneBlock& block, const Index* info) {
        for (std::size_t l = 0; l < static_cast<std::size_t>(block.used); ++l) lane_info_[l] = info[block.matrix[l]];
    }
    void solve() { k_.batch_solve(n_, columns_, a_, rs_, cs_, reciprocals_, b_); }

    void store_a(const BatchView<T>& a, const LaneBlock& block) {
        auto to = matrices_of(a, block.matrix, k_.lanes);
        leave_out_unused(to, block);
        k_.separate(n_, n_, part_, a_, apart_, to.data.data(), to.ld);
    }
    /// B is left as it is where the factorization failed.
    void store_b(const BatchView<T>& b, const LaneBlock& block) {
        auto to = matrices_of(b, block.matrix, k_.lanes);
        leave_out_unused(to, block);
        leave_out_failed(to, lane_info_);
        k_.separate(n_, columns_, simd::BatchPart::all, b_, n_, to.data.data(), to.ld);
    }

  private:
    const simd::Kernels<T>& k_ = simd::kernels<T>();
    /// Registers between columns: one more than n where a row's elements would share two sets of the first cache, or
    /// one.
    static Index apart(Index n, Index lanes) {
        constexpr Index half_of_sets = 2048;
        return n * lanes * static_cast<Index>(sizeof(T)) % half_of_sets == 0 ? n + 1 : n;
    }

    const Index n_, columns_, apart_;
    const simd::BatchPart part_;
    const Index rs_, cs_;
    T *const a_, *const reciprocals_, *const b_;
    std::array<Index, 16> lane_info_{};
};

/// small_cholesky for a block of a batch.
template <class T>
void factor_small_triangles(const BatchView<T>& a, const LaneBlock& block, Index* info) {
    const auto matrices = matrices_of(a, block.matrix, batch_lanes<T>());
    std::array<Index, 16> lane_info;
    simd::kernels<T>().small_cholesky({.n = order_of(a, block),
                                       .count = block.used,
                                       .a = matrices.data.data(),
                                       .lda = matrices.ld,
                                       .info = lane_info.data()});
    store_info(block, lane_info, info);
}

/// Whether that kernel's factors, interleaved for a solution, take less time than an interleaved factorization.
template <class T>
bool is_worth_interleaving_again(Triangle triangle, Index n) {
    constexpr Index least_elements = 4096 / static_cast<Index>(sizeof(T));
    return is_small<T>(triangle, n) && n * n >= least_elements;
}

/// Blocks of matrices come together: those for which small(order) holds, however few there are, and others where there
/// are enough.
template <class T, class A, class B, class Small, class Together, class Alone>
void for_each_lane_block(const Small& small, const BatchView<A>& a, const BatchView<B>* b, const Together& together,
                         const Alone& alone) {
    const Index lanes = batch_lanes<T>();
    const auto least = [&](Index k) {
        const Index n = a[k].rows();
        if (small(n)) return std::optional<Index>(1);
        return n > 0 && n <= most_interleaved ? std::optional(least_interleaved<T>(n, lanes)) : std::nullopt;
    };
    visit_lane_blocks(a, b, lanes, least, together, alone);
}

}  // namespace

template <class T>
Index batch_lanes() {
    return simd::kernels<T>().lanes;
}

template <class T>
void batch_factor(Triangle triangle, const BatchView<T>& a, Index* info) {
    const auto small = [triangle](Index n) { return is_small<T>(triangle, n); };
    for_each_lane_block<T, T, T>(
        small, a, nullptr,
        [&](const LaneBlock& block) {
            if (small(order_of(a, block))) return factor_small_triangles<T>(a, block, info);
            InterleavedCholesky<T> lanes(triangle, order_of(a, block), 0);
            lanes.load_a(a, block);
            lanes.factor(a, block, info);
            lanes.store_a(a, block);
        },
        [&](Index k) { info[k] = factor_alone<T>(triangle, a[k]); });
}

template <class T>
void batch_solve(Triangle triangle, const BatchView<const T>& factors, const BatchView<T>& b) {
    for_each_lane_block<T>(
        none_is_small, factors, &b,
        [&](const LaneBlock& block) {
            InterleavedCholesky<T> lanes(triangle, order_of(factors, block), b[block.matrix[0]].cols());
            lanes.load_a(factors, block);
            lanes.load_b(b, block);
            lanes.take_factor();
            lanes.solve();
            lanes.store_b(b, block);
        },
        [&](Index k) { solve_alone<T>(triangle, factors[k], b[k]); });
}

template <class T>
void batch_factor_solve(Triangle triangle, const BatchView<T>& a, const BatchView<T>& b, Index* info) {
    for_each_lane_block<T>(
        none_is_small, a, &b,
        [&](const LaneBlock& block) {
            InterleavedCholesky<T> lanes(triangle, order_of(a, block), b[block.matrix[0]].cols());
            const bool factored = is_worth_interleaving_again<T>(triangle, order_of(a, block));
            if (factored) factor_small_triangles<T>(a, block, info);
            lanes.load_a(a, block);
            lanes.load_b(b, block);
            if (factored) {
                lanes.take_factor();
                lanes.take_info(block, info);
            } else {
                lanes.factor(a, block, info);
                lanes.store_a(a, block);
            }
            lanes.solve();
            lanes.store_b(b, block);
        },
        [&](Index k) {
            info[k] = factor_alone<T>(triangle, a[k]);
            if (info[k] == 0) solve_alone<T>(triangle, a[k], b[k]);
        });
}

template <class T>
void batch_factor_solve(Triangle triangle, const BatchView<const T>& a, const BatchView<T>& b, Index* info) {
    for_each_lane_block<T>(
        none_is_small, a, &b,
        [&](const LaneBlock& block) {
            InterleavedCholesky<T> lanes(triangle, order_of(a, block), b[block.matrix[0]].cols());
            lanes.load_a(a, block);
            lanes.load_b(b, block);
            lanes.factor(a, block, info);
            lanes.solve();
            lanes.store_b(b, block);
        },
        [&](Index k) {
            const Index n = a[k].rows();
            const auto factor = View<T>::column_major(lane_memory<T>(n * n), n, n, std::max<Index>(1, n));
            for (Index j = 0; j < n; ++j) {
                const Index begin = triangle == Triangle::lower ? j : 0, end = triangle == Triangle::lower ? n : j + 1;
                for (Index i = begin; i < end; ++i) factor(i, j) = a[k](i, j);
            }
            info[k] = factor_alone<T>(triangle, factor);
            if (info[k] == 0) solve_alone<T>(triangle, factor, b[k]);
        });
}

template Index batch_lanes<float>();
template Index batch_lanes<double>();
template void batch_factor<float>(Triangle, const BatchView<float>&, Index*);
template void batch_factor<double>(Triangle, const BatchView<double>&, Index*);
template void batch_solve<float>(Triangle, const BatchView<const float>&, const BatchView<float>&);
template void batch_solve<double>(Triangle, const BatchView<const double>&, const BatchView<double>&);
template void batch_factor_solve<float>(Triangle, const BatchView<float>&, const BatchView<float>&, Index*);
template void batch_factor_solve<double>(Triangle, const BatchView<double>&, const BatchView<double>&, Index*);
template void batch_factor_solve<float>(Triangle, const BatchView<const float>&, const BatchView<float>&, Index*);
template void batch_factor_solve<double>(Triangle, const BatchView<const double>&, const BatchView<double>&, Index*);

}  // namespace basalt::cpu_kernels
