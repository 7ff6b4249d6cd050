#include "kernels/cuda/qr_panel.hpp"

#include <algorithm>
#include <cassert>

#include "kernels/cuda/blas.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/qr_leaf.hpp"
#include "kernels/cuda/tall_product.hpp"

namespace basalt::cuda_kernels {

namespace {

using cuda_detail::Batched;
using cuda_detail::batched_gemm;
using cuda_detail::QrLeafData;
using cuda_detail::tall_product;

constexpr Index leaf_width = cuda_detail::qr_leaf_width, leaf_size = leaf_width * leaf_width;

/// The workspace in parts.
template <class T>
struct Memory {
    Memory(void* workspace, Index rows, Index cols) : begin_(static_cast<T*>(workspace)) {
        q1 = take(rows * leaf_width);
        below = take(rows * leaf_width);
        parts = take(cuda_detail::tall_product_workspace(cols, cols));
        w = take(leaf_width * cols);
        x = take(leaf_width * cols);
        gram = take(cols * cols);
        householder = take(cuda_detail::householder_workspace);
        leaf.gram = take(leaf_size);
        leaf.r1 = take(leaf_size);
        leaf.x = take(leaf_size);
        leaf.top = take(leaf_size);
        leaf.r = take(leaf_size);
        leaf.t = take(leaf_size);
        leaf.refused = reinterpret_cast<int*>(take(leaf_width));
    }
    std::size_t bytes() const { return static_cast<std::size_t>(used_) * sizeof(T); }

    T *q1, *below, *parts, *w, *x, *gram, *householder;
    QrLeafData<T> leaf;

  private:
    T* take(Index elements) {
        T* const part = begin_ == nullptr ? nullptr : begin_ + used_;
        used_ += cuda_detail::divide_up(elements, leaf_width) * leaf_width;
        return part;
    }
    T* begin_;
    Index used_ = 0;
};

template <class T>
View<T> dense(T* memory, Index rows, Index cols) {
    return View<T>::row_major(memory, rows, cols, std::max<Index>(cols, 1));
}

/// The leaf, whose first row is on the diagonal, becomes V; leaf.r and leaf.t are its R and T.
template <class T>
void factor_leaf(Stream stream, View<T> a, const Memory<T>& memory) {
    const Index m = a.rows(), w = a.cols();
    const int width = static_cast<int>(w);
    const QrLeafData<T>& leaf = memory.leaf;
    const View<T> gram = dense(leaf.gram, w, w), x = dense(leaf.x, w, w), q1 = dense(memory.q1, m, w),
                  below = dense(memory.below, m - w, w);
    tall_product<T>(stream, a, a, gram, memory.parts);
    cuda_detail::factor_gram<T>(stream, m, width, leaf);
    batched_gemm<T>(stream, 1, T{1}, {a}, {x}, T{0}, Batched<T>{q1});
    tall_product<T>(stream, q1, q1, gram, memory.parts);
    cuda_detail::reconstruct_reflectors<T>(stream, width, q1.block(0, 0, w, w), leaf);
    batched_gemm<T>(stream, 1, T{1}, {q1.block(w, 0, m - w, w)}, {x}, T{0}, Batched<T>{below});
    cuda_detail::take_reflectors<T>(stream, below, a, leaf);
    cuda_detail::factor_by_householder<T>(stream, a, leaf, memory.householder);
}

/// C -= V T^T (V^T C)
template <class T>
void reflect(Stream stream, View<const T> v, View<const T> t, View<T> c, const Memory<T>& memory) {
    const View<T> w = dense(memory.w, v.cols(), c.cols()), x = dense(memory.x, v.cols(), c.cols());
    tall_product<T>(stream, v, c, w, memory.parts);
    batched_gemm<T>(stream, 1, T{1}, {t, 0, true}, {w}, T{0}, Batched<T>{x});
    batched_gemm<T>(stream, 1, T{-1}, {v}, {x}, T{1}, Batched<T>{c});
}

}  // namespace

template <class T>
std::size_t qr_panel_workspace(Index rows, Index cols) {
    return Memory<T>(nullptr, rows, cols).bytes();
}

template <class T>
void qr_panel_factor(Stream stream, View<T> panel, std::type_identity_t<View<T>> r, std::type_identity_t<View<T>> t,
                     void* workspace) {
    const Index m = panel.rows(), k = panel.cols();
    assert(m >= k && r.rows() == k && t.rows() == k);
    if (k == 0) return;
    const Memory<T> memory(workspace, m, k);
    for (const View<T>& triangle : {r, t}) {
        const auto row = static_cast<std::size_t>(k) * sizeof(T);
        cuda_detail::check(
            cudaMemset2DAsync(triangle.data(), static_cast<std::size_t>(triangle.row_stride()) * sizeof(T), 0, row,
                              static_cast<std::size_t>(k), cuda_detail::native(stream)),
            "cudaMemset2DAsync", stream);
    }
    for (Index first = 0; first < k; first += leaf_width) {
        const Index w = std::min(leaf_width, k - first), right = k - first - w;
        const View<T> v = panel.block(first, first, m - first, w), t_leaf = t.block(first, first, w, w);
        factor_leaf<T>(stream, v, memory);
        cuda_detail::place_leaf<T>(stream, panel.block(0, first, first, w), r.block(0, first, first, w),
                                   r.block(first, first, w, w), t_leaf, memory.leaf);
        if (right > 0) reflect<T>(stream, v, t_leaf, panel.block(first, first + w, m - first, right), memory);
    }
    if (k <= leaf_width) return;
    // T(0:c, c:) = -T(0:c, 0:c) (V^T V)(0:c, c:) T(c:, c:), leaf by leaf
    const View<T> gram = dense(memory.gram, k, k);
    tall_product<T>(stream, panel, panel, gram, memory.parts);
    for (Index first = leaf_width; first < k; first += leaf_width) {
        const Index w = std::min(leaf_width, k - first);
        const View<T> product = dense(memory.w, first, w);
        batched_gemm<T>(stream, 1, T{1}, {gram.block(0, first, first, w)}, {t.block(first, first, w, w)}, T{0},
                        Batched<T>{product});
        batched_gemm<T>(stream, 1, T{-1}, {t.block(0, 0, first, first)}, {product}, T{0},
                        Batched<T>{t.block(0, first, first, w)});
    }
}

template std::size_t qr_panel_workspace<float>(Index, Index);
template std::size_t qr_panel_workspace<double>(Index, Index);
template void qr_panel_factor<float>(Stream, View<float>, View<float>, View<float>, void*);
template void qr_panel_factor<double>(Stream, View<double>, View<double>, View<double>, void*);

}  // namespace basalt::cuda_kernels
