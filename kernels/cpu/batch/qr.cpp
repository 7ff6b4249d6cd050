#include "kernels/cpu/batch/qr.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "kernels/cpu/batch/lane_blocks.hpp"
#include "kernels/cpu/batch/lapack.hpp"
#include "kernels/cpu/batch/qr_alone.hpp"
#include "kernels/cpu/blas/serial.hpp"
#include "kernels/cpu/simd/kernels.hpp"

namespace basalt::cpu_kernels {

namespace {

/// Interleaved matrices of one shape in the memory of the thread: A, TAU, a second operand C, and scratch. A wide A is
/// used as its transpose, whose QR is the LQ of A.
template <class T>
class InterleavedQr {
  public:
    InterleavedQr(Index m, Index n, MatrixOp used_as, Index c_rows, Index c_cols)
        : transposed_(used_as == MatrixOp::transposed),
          rows_(m),
          cols_(n),
          m_(transposed_ ? n : m),
          n_(transposed_ ? m : n),
          c_rows_(c_rows),
          c_cols_(c_cols),
          rs_(transposed_ ? m * k_.lanes : k_.lanes),
          cs_(transposed_ ? k_.lanes : m * k_.lanes),
          a_(lane_memory<T>((m * n + std::min(m, n) + c_rows * c_cols + (k_.batch_scratch + 1) * std::max(m, n)) *
                            k_.lanes)),
          tau_(a_ + m * n * k_.lanes),
          c_(tau_ + std::min(m, n) * k_.lanes),
          scratch_(c_ + c_rows * c_cols * k_.lanes) {}

    void load_a(const BatchView<const T>& a, const LaneBlock& block) { load(a, block, rows_, cols_, a_); }
    void load_tau(const BatchView<const T>& tau, const LaneBlock& block, Index reflectors) {
        load(tau, block, reflectors, 1, tau_);
    }
    void load_c(const BatchView<const T>& c, const LaneBlock& block) { load(c, block, c_rows_, c_cols_, c_); }

    /// What load_a() took; `a` is the batch, from which the next block is fetched.
    void factor(const BatchView<const T>& a, const LaneBlock& block) {
        const NextMatrices<T> next(a, block, simd::BatchPart::all);
        k_.batch_qr(m_, n_, a_, rs_, cs_, tau_, scratch_, next.ahead());
    }

    /// C := Q's first columns.
    void form(Index reflectors) {
        std::fill_n(c_, c_rows_ * c_cols_ * k_.lanes, T{});
        for (Index i = 0; i < c_cols_; ++i) std::fill_n(c_ + i * (c_rows_ + 1) * k_.lanes, k_.lanes, T{1});
        reflect(reflectors, simd::BatchReflection::of_identity);
    }

    /// INFO of gels: the first zero on the diagonal of R.
    void find_deficient(const LaneBlock& block, Index* info) {
        for (Index l = 0; l < block.used; ++l) {
            Index first = 0;
            for (Index i = n_ - 1; i >= 0; --i) first = a_[i * (rs_ + cs_) + l] == T{} ? i + 1 : first;
            lane_info_[static_cast<std::size_t>(l)] = info[block.matrix[static_cast<std::size_t>(l)]] = first;
        }
    }

    /// C := R^-1 Q^T C in its first rows.
    void least_squares() {
        reflect(n_, simd::BatchReflection::transposed);
        if (n_ == 0) return;
        const Index lanes = k_.lanes, last = n_ - 1;
        k_.batch_reciprocals(n_, a_, rs_, cs_, reciprocals());
        k_.batch_substitute(n_, c_cols_, a_ + last * (rs_ + cs_), -rs_, -cs_, reciprocals() + last * lanes, -lanes,
                            c_ + last * lanes, -lanes, c_rows_ * lanes);
    }
    /// C := Q R^-T C, of minimum norm; A is the transpose of the system's matrix.
    void minimum_norm() {
        const Index lanes = k_.lanes;
        k_.batch_reciprocals(n_, a_, rs_, cs_, reciprocals());
        k_.batch_substitute(n_, c_cols_, a_, cs_, rs_, reciprocals(), lanes, c_, lanes, c_rows_ * lanes);
        for (Index c = 0; c < c_cols_; ++c) {
            std::fill(c_ + (c * c_rows_ + n_) * lanes, c_ + (c + 1) * c_rows_ * lanes, T{});
        }
        reflect(n_, simd::BatchReflection::plain);
    }

    void store_a(const BatchView<T>& a, const LaneBlock& block) { store(a, block, rows_, cols_, a_); }
    void store_tau(const BatchView<T>& tau, const LaneBlock& block) { store(tau, block, std::min(m_, n_), 1, tau_); }
    /// Where INFO is 0.
    void store_c(const BatchView<T>& c, const LaneBlock& block) { store(c, block, c_rows_, c_cols_, c_); }

  private:
    T* reciprocals() const { return scratch_ + k_.batch_scratch * std::max(rows_, cols_) * k_.lanes; }

    void reflect(Index reflectors, simd::BatchReflection what) {
        k_.batch_reflect(m_, reflectors, a_, rs_, cs_, tau_, what, c_cols_, c_, c_rows_ * k_.lanes, scratch_);
    }
    void load(const BatchView<const T>& batch, const LaneBlock& block, Index rows, Index cols, T* to) {
        const auto from = matrices_of(batch, block.matrix, k_.lanes);
        k_.interleave(rows, cols, simd::BatchPart::all, from.data.data(), from.ld, to, rows);
    }
    void store(const BatchView<T>& batch, const LaneBlock& block, Index rows, Index cols, const T* from) {
        auto to = matrices_of(batch, block.matrix, k_.lanes);
        leave_out_unused(to, block);
        leave_out_failed(to, lane_info_);
        k_.separate(rows, cols, simd::BatchPart::all, from, rows, to.data.data(), to.ld);
    }

    const simd::Kernels<T>& k_ = simd::kernels<T>();
    const bool transposed_;    ///< A is used as its transpose
    const Index rows_, cols_;  ///< of A in memory
    const Index m_, n_;        ///< of the matrix that is factored
    const Index c_rows_, c_cols_, rs_, cs_;
    T *const a_, *const tau_, *const c_, *const scratch_;
    std::array<Index, 16> lane_info_{};
};

// Elements up to which interleaved matrices are faster than LAPACK one by one: decision 34.
constexpr Index most_interleaved_qr = 256 * 256;

template <class T>
bool is_zero(const View<T>& a) {
    for (Index j = 0; j < a.cols(); ++j) {
        for (Index i = 0; i < a.rows(); ++i) {
            if (!(a(i, j) == T{})) return false;
        }
    }
    return true;
}

/// Fewer matrices are faster one by one: the interleaved ones take as long as if all lanes were in use.
Index least_interleaved_qr(Index elements, Index lanes) {
    // how many times as fast as one by one full lanes are, less than measured
    const Index gain = elements <= 128 * 128 ? 3 : 2;
    return std::max<Index>(2, (lanes + gain - 1) / gain);
}

/// Matrices of fewer than least_rows rows are never interleaved.
template <class T, class A, class B, class Together, class Alone>
void for_each_qr_block(Index least_rows, const BatchView<A>& a, const BatchView<B>* b, const Together& together,
                       const Alone& alone) {
    const Index lanes = simd::kernels<T>().lanes;
    const auto least = [&](Index k) {
        const Index rows = a[k].rows(), elements = rows * a[k].cols();
        return rows >= least_rows && elements > 0 && elements <= most_interleaved_qr
                   ? std::optional(least_interleaved_qr(elements, lanes))
                   : std::nullopt;
    };
    visit_lane_blocks(a, b, lanes, least, together, alone);
}

}  // namespace

template <class T>
void batch_qr_factor(const BatchView<T>& a, const BatchView<T>& tau) {
    constexpr Index least_rows = 2;  // that have reflectors
    for_each_qr_block<T, T, T>(
        least_rows, a, nullptr,
        [&](const LaneBlock& block) {
            const View<T> first = a[block.matrix[0]];
            InterleavedQr<T> lanes(first.rows(), first.cols(), MatrixOp::plain, 0, 0);
            lanes.load_a(a, block);
            lanes.factor(a, block);
            lanes.store_a(a, block);
            lanes.store_tau(tau, block);
        },
        [&](Index k) { factor_qr_alone(a[k], tau[k].data()); });
}

template <class T>
void batch_qr_form(const BatchView<T>& a, const BatchView<const T>& tau) {
    const BatchView<const T>* const second = &tau;
    for_each_qr_block<T>(
        1, a, second,
        [&](const LaneBlock& block) {
            const View<T> first = a[block.matrix[0]];
            const Index reflectors = tau[block.matrix[0]].rows();
            InterleavedQr<T> lanes(first.rows(), first.cols(), MatrixOp::plain, first.rows(), first.cols());
            lanes.load_a(a, block);
            lanes.load_tau(tau, block, reflectors);
            lanes.form(reflectors);
            lanes.store_c(a, block);
        },
        [&](Index k) {
            if (a[k].empty()) return;
            const BlasSerial serial;
            lapack::orgqr(a[k], tau[k].rows(), tau[k].data());
        });
}

template <class T>
void batch_least_squares(const BatchView<T>& a, const BatchView<T>& b, Index* info) {
    for_each_qr_block<T>(
        1, a, &b,
        [&](const LaneBlock& block) {
            const View<T> first = a[block.matrix[0]], sides = b[block.matrix[0]];
            if (sides.cols() == 0) {  // as LAPACK
                for (Index l = 0; l < block.used; ++l) info[block.matrix[static_cast<std::size_t>(l)]] = 0;
                return;
            }
            const bool wide = first.rows() < first.cols();
            InterleavedQr<T> lanes(first.rows(), first.cols(), wide ? MatrixOp::transposed : MatrixOp::plain,
                                   sides.rows(), sides.cols());
            lanes.load_a(a, block);
            lanes.load_c(b, block);
            lanes.factor(a, block);
            lanes.store_a(a, block);
            lanes.find_deficient(block, info);
            wide ? lanes.minimum_norm() : lanes.least_squares();
            lanes.store_c(b, block);
        },
        [&](Index k) {
            if (a[k].empty()) {  // the shortest solution of no equations is zero
                for (Index c = 0; c < b[k].cols(); ++c) {
                    std::fill_n(b[k].data() + c * b[k].col_stride(), b[k].rows(), T{});
                }
                info[k] = 0;
                return;
            }
            if (b[k].cols() > 0 && is_zero(a[k])) {  // LAPACK has an answer for it
                info[k] = 1;
                return;
            }
            const BlasSerial serial;
            info[k] = lapack::gels(a[k], b[k]);
        });
}

template void batch_qr_factor<float>(const BatchView<float>&, const BatchView<float>&);
template void batch_qr_factor<double>(const BatchView<double>&, const BatchView<double>&);
template void batch_qr_form<float>(const BatchView<float>&, const BatchView<const float>&);
template void batch_qr_form<double>(const BatchView<double>&, const BatchView<const double>&);
template void batch_least_squares<float>(const BatchView<float>&, const BatchView<float>&, Index*);
template void batch_least_squares<double>(const BatchView<double>&, const BatchView<double>&, Index*);

}  // namespace basalt::cpu_kernels
