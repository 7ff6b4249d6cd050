#include <algorithm>
#include <cassert>

#include "kernels/column_recursion.hpp"
#include "kernels/cuda/common/blas.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/qr/leaf.hpp"
#include "kernels/cuda/qr/tall_product.hpp"
#include "kernels/cuda/qr/workspace.hpp"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/qr.hpp"

namespace basalt::on_stream {

namespace {

using cuda_detail::Batched;
using cuda_detail::batched_gemm;
using cuda_detail::divide_up;
using cuda_detail::QrLeafData;
using cuda_detail::QrLeafWay;
using cuda_detail::tall_product;

constexpr Index leaf_width = cuda_detail::qr_leaf_width, leaf_size = leaf_width * leaf_width;
constexpr Index wide_width = cuda_detail::qr_wide_width, wide_size = wide_width * wide_width;
/// The workspace in parts.
template <class T>
struct Memory {
    /// `tall`: it may have wide leaves.
    Memory(void* workspace, Index rows, Index cols, bool tall, int multiprocessors)
        : begin_(static_cast<T*>(workspace)) {
        const Index half = divide_up(cols, 2);  // products between two parts are largest where these are halves
        const bool wide = tall && cols > leaf_width;
        const Index size = wide ? wide_size : leaf_size;
        q1 = take(rows * (wide ? wide_width : leaf_width));
        parts = take(std::max(cuda_detail::tall_product_workspace(half, half, multiprocessors),
                              cuda_detail::gram_workspace(wide ? wide_width : leaf_width, multiprocessors)));
        w = take(half * half);
        x = take(half * half);
        householder = take(cuda_detail::householder_workspace(multiprocessors));
        leaf.gram = take(size);
        leaf.r1 = take(size);
        leaf.x = take(size);
        leaf.r = take(size);
        leaf.t = take(size);
        leaf.way = reinterpret_cast<QrLeafWay*>(take(leaf_width));
        if (!wide) return;
        compressed = take(2 * wide_size);
        z = take(wide_size);
        inner = take(Memory(nullptr, 2 * wide_width, wide_width, false, multiprocessors).used_);
    }
    std::size_t bytes() const { return static_cast<std::size_t>(used_) * sizeof(T); }

    T *q1, *parts, *w, *x, *householder;
    QrLeafData<T> leaf;
    // of wide leaves
    T *compressed = nullptr, *z = nullptr, *inner = nullptr;

  private:
    T* take(Index elements) {
        T* const part = begin_ == nullptr ? nullptr : begin_ + used_;
        used_ += divide_up(elements, leaf_width) * leaf_width;
        return part;
    }
    T* begin_;
    Index used_ = 0;
};

template <class T>
View<T> dense(T* memory, Index rows, Index cols) {
    return View<T>::row_major(memory, rows, cols, std::max<Index>(cols, 1));
}

template <class T>
class Panel {
  public:
    Panel(Stream stream, View<T> v, View<T> r, View<T> t, bool tall, void* workspace)
        : stream_(stream),
          v_(v),
          r_(r),
          t_(t),
          tall_(tall),
          memory_(workspace, v.rows(), v.cols(), tall, stream.context()->multiprocessors) {}

    void factor() {
        const bool wide = tall_ && cuda_detail::wide_leaves_fit(stream_);
        factor_by_halves(*this, 0, v_.cols(), wide ? wide_width : leaf_width);
    }

  private:
    template <class Panel>
    friend void basalt::factor_by_halves(Panel&, Index, Index, Index);

    /// Columns from row `first` on.
    View<T> from(Index first, Index col, Index cols) const { return v_.block(first, col, v_.rows() - first, cols); }

    void leaf(Index first, Index cols) {
        if (cols > leaf_width) return wide_leaf(first, cols);
        const View<T> a = from(first, first, cols), q1 = dense(memory_.q1, a.rows(), cols);
        const QrLeafData<T>& data = memory_.leaf;
        cuda_detail::make_gram<T>(stream_, a, data, memory_.parts);
        cuda_detail::factor_gram<T>(stream_, a.rows(), static_cast<int>(cols), data);
        cuda_detail::orthogonalize_again<T>(stream_, a, q1, data, memory_.parts);
        cuda_detail::reconstruct_reflectors<T>(stream_, a, q1, data);
        cuda_detail::make_reflectors<T>(stream_, a.block(cols, 0, a.rows() - cols, cols),
                                        q1.block(cols, 0, a.rows() - cols, cols), data);
        cuda_detail::factor_by_householder<T>(stream_, a, data, memory_.householder);
        cuda_detail::place_leaf<T>(stream_, v_.block(0, first, first, cols), r_.block(0, first, first, cols),
                                   r_.block(first, first, cols, cols), t_.block(first, first, cols, cols), data);
    }

    /// The rows below the top square are Q R, and their reflectors Q times those of R: V = A x V'.
    void wide_leaf(Index first, Index cols) {
        const View<T> a = from(first, first, cols), below = a.block(cols, 0, a.rows() - cols, cols),
                      q1 = dense(memory_.q1, below.rows(), cols),
                      compressed = dense(memory_.compressed, 2 * cols, cols), z = dense(memory_.z, cols, cols),
                      r = r_.block(first, first, cols, cols), t = t_.block(first, first, cols, cols);
        const QrLeafData<T>& data = memory_.leaf;
        cuda_detail::make_gram<T>(stream_, below, data, memory_.parts);
        cuda_detail::factor_gram<T>(stream_, a.rows(), static_cast<int>(cols), data);
        cuda_detail::orthogonalize_again<T>(stream_, below, q1, data, memory_.parts);
        cuda_detail::compress_leaf<T>(stream_, a.block(0, 0, cols, cols), compressed, data);
        Panel(stream_, compressed, r, t, false, memory_.inner).factor();
        multiply(T{1}, {dense(data.x, cols, cols)}, compressed.block(cols, 0, cols, cols), T{0}, z);
        QrLeafData<T> made = data;
        made.x = memory_.z;
        cuda_detail::make_reflectors<T>(stream_, below, q1, made);
        cuda_detail::factor_by_householder<T>(stream_, a, data, memory_.householder);
        cuda_detail::place_wide_leaf<T>(stream_, v_.block(0, first, v_.rows(), cols), r_.block(0, first, first, cols),
                                        compressed, r, t, data);
    }

    /// A2 -= V1 T1^T (V1^T A2)
    void apply(Index first, Index left, Index right) {
        const View<T> v1 = from(first, first, left), a2 = from(first, first + left, right),
                      w = dense(memory_.w, left, right), x = dense(memory_.x, left, right);
        tall_product<T>(stream_, v1, a2, w, memory_.parts);
        multiply(T{1}, {t_.block(first, first, left, left), 0, true}, w, T{0}, x);
        multiply(T{-1}, {v1}, x, T{1}, a2);
    }

    /// T12 = -T1 (V1^T V2) T2
    void join(Index first, Index left, Index right) {
        const Index second = first + left;
        const View<T> w = dense(memory_.w, left, right), x = dense(memory_.x, left, right);
        tall_product<T>(stream_, from(second, first, left), from(second, second, right), w, memory_.parts);
        multiply(T{1}, {w}, t_.block(second, second, right, right), T{0}, x);
        multiply(T{-1}, {t_.block(first, first, left, left)}, x, T{0}, t_.block(first, second, left, right));
    }

    void multiply(T alpha, Batched<const T> a, View<const T> b, T beta, View<T> c) const {
        batched_gemm<T>(stream_, 1, alpha, a, {b}, beta, Batched<T>{c});
    }

    const Stream stream_;
    const View<T> v_, r_, t_;
    const bool tall_;
    const Memory<T> memory_;
};

}  // namespace

template <class T>
void run_on_gpu(QrPanelFactor<T>, Stream stream, View<T> panel, View<T> r, View<T> t, Index wide_leaves_from,
                void* workspace) {
    const Index k = panel.cols();
    assert(panel.rows() >= k && r.rows() == k && t.rows() == k);
    if (k == 0) return;
    for (const View<T>& triangle : {r, t}) {
        const auto row = static_cast<std::size_t>(k) * sizeof(T);
        cuda_detail::check(
            cudaMemset2DAsync(triangle.data(), static_cast<std::size_t>(triangle.row_stride()) * sizeof(T), 0, row,
                              static_cast<std::size_t>(k), cuda_detail::native(stream)),
            "cudaMemset2DAsync", stream);
    }
    Panel<T>(stream, panel, r, t, panel.rows() >= wide_leaves_from, workspace).factor();
}

template <>
const QrPanelFactor<float>::Gpu Code<QrPanelFactor<float>>::gpu = gpu_code<QrPanelFactor<float>>;
template <>
const QrPanelFactor<double>::Gpu Code<QrPanelFactor<double>>::gpu = gpu_code<QrPanelFactor<double>>;

}  // namespace basalt::on_stream

namespace basalt::cuda_detail {

template <class T>
std::size_t qr_panel_workspace(Index rows, Index cols, Index wide_leaves_from, int multiprocessors) {
    return on_stream::Memory<T>(nullptr, rows, cols, rows >= wide_leaves_from, multiprocessors).bytes();
}

template std::size_t qr_panel_workspace<float>(Index, Index, Index, int);
template std::size_t qr_panel_workspace<double>(Index, Index, Index, int);

}  // namespace basalt::cuda_detail
