#include "kernels/cpu/cholesky/panel.hpp"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "kernels/cpu/blas/blas.hpp"
#include "kernels/cpu/blas/serial.hpp"
#include "kernels/cpu/cholesky/cholesky.hpp"
#include "kernels/cpu/products/gemm.hpp"
#include "kernels/on_stream/cholesky.hpp"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/products.hpp"
#include "kernels/rounding.hpp"
#include "tiles/copy.hpp"

namespace basalt::on_stream {

namespace {

/// C -= A B in TF32.
void subtract_product_in_tf32(View<const float> a, View<const float> b, View<float> c) {
    const auto rounded_copy = [](View<const float> from, std::vector<float>& memory) {
        memory.resize(static_cast<std::size_t>(from.size()));
        const auto copy = View<float>::row_major(memory.data(), from.rows(), from.cols(), from.cols());
        for (Index i = 0; i < from.rows(); ++i) {
            for (Index j = 0; j < from.cols(); ++j) copy(i, j) = rounded_to_tf32(from(i, j));
        }
        return copy;
    };
    std::vector<float> of_a, of_b;
    blas::gemm<float>(-1, rounded_copy(a, of_a), rounded_copy(b, of_b), 1, c);
}

/// A = L L^T in the square on top, and P L^-T below. Returns INFO.
template <class T>
Index factor_columns(View<T> panel) {
    const Index n = panel.cols();
    const View<T> square = panel.block(0, 0, n, n), below = panel.block(n, 0, panel.rows() - n, n);
    const Index info = cpu_kernels::factor_triangle(Triangle::lower, square);
    if (info == 0) blas::trsm<T>(Side::right, Triangle::upper, Diagonal::stored, T{1}, transposed(square), below);
    return info;
}

/// The same by halves, as GPUs do it: their product is in TF32. `leaf`: columns that are not divided.
Index factor_in_tf32(View<float> panel, Index leaf) {
    const Index cols = panel.cols(), leaves = (cols + leaf - 1) / leaf;
    if (leaves <= 1) return factor_columns(panel);
    const Index left = (leaves + 1) / 2 * leaf, rows = panel.rows() - left;
    if (const Index info = factor_in_tf32(panel.block(0, 0, panel.rows(), left), leaf); info != 0) return info;
    const View<float> below = panel.block(left, 0, rows, left), right = panel.block(left, left, rows, cols - left);
    subtract_product_in_tf32(below, transposed(below.block(0, 0, cols - left, left)), right);
    const Index info = factor_in_tf32(right, leaf);
    return info == 0 ? 0 : left + info;
}

}  // namespace

template <class T>
void run_on_cpu(CholeskyPanel<T>, View<T> panel, const CholeskyPanelPlan& plan, Index* info, void*) {
    const BlasSerial serial;
    if constexpr (std::is_same_v<T, float>) {
        const bool by_halves = plan.design == cuda_kernels::CholeskyPanelDesign::recursive;
        if (by_halves && plan.products == ProductPrecision::tf32) {
            *info = factor_in_tf32(panel, plan.leaf.columns);
            return;
        }
    }
    *info = factor_columns(panel);
}

template <class T>
void run_on_cpu(SubtractTransposedProducts<T>, Index count, Strided<const T> a, Strided<const T> b, Strided<T> c,
                ProductPrecision precision) {
    const BlasSerial serial;
    if constexpr (std::is_same_v<T, float>) {
        if (precision == ProductPrecision::tf32) {
            for (Index i = 0; i < count; ++i) subtract_product_in_tf32(a[i], transposed(b[i]), c[i]);
            return;
        }
    }
    for (Index i = 0; i < count; ++i) blas::gemm<T>(T{-1}, a[i], transposed(b[i]), T{1}, c[i]);
}

template <class T>
void run_on_cpu(SaveAboveDiagonal<T>, View<const T> a, View<T> saved) {
    for (Index i = 0; i < a.rows(); ++i) {
        for (Index d = 1; d < std::min(saved.cols(), a.cols() - i); ++d) saved(i, d) = a(i, i + d);
    }
}

template <class T>
void run_on_cpu(RestoreAboveDiagonal<T>, View<const T> saved, View<T> a) {
    for (Index i = 0; i < a.rows(); ++i) {
        for (Index d = 1; d < std::min(saved.cols(), a.cols() - i); ++d) a(i, i + d) = saved(i, d);
    }
}

template <>
const SubtractTransposedProducts<float>::Cpu Code<SubtractTransposedProducts<float>>::cpu =
    cpu_code<SubtractTransposedProducts<float>>;
template <>
const SubtractTransposedProducts<double>::Cpu Code<SubtractTransposedProducts<double>>::cpu =
    cpu_code<SubtractTransposedProducts<double>>;
template <>
const CholeskyPanel<float>::Cpu Code<CholeskyPanel<float>>::cpu = cpu_code<CholeskyPanel<float>>;
template <>
const CholeskyPanel<double>::Cpu Code<CholeskyPanel<double>>::cpu = cpu_code<CholeskyPanel<double>>;
template <>
const SaveAboveDiagonal<float>::Cpu Code<SaveAboveDiagonal<float>>::cpu = cpu_code<SaveAboveDiagonal<float>>;
template <>
const SaveAboveDiagonal<double>::Cpu Code<SaveAboveDiagonal<double>>::cpu = cpu_code<SaveAboveDiagonal<double>>;
template <>
const RestoreAboveDiagonal<float>::Cpu Code<RestoreAboveDiagonal<float>>::cpu = cpu_code<RestoreAboveDiagonal<float>>;
template <>
const RestoreAboveDiagonal<double>::Cpu Code<RestoreAboveDiagonal<double>>::cpu =
    cpu_code<RestoreAboveDiagonal<double>>;

}  // namespace basalt::on_stream

namespace basalt::cpu_kernels {

template <class T>
Index factor_strips(const TriangleStrips& strips, T* array) {
    if (strips.count() == 1) return factor_triangle(Triangle::lower, strips.strip(array, 0));
    // copied together and back, which costs less than products as small as strips would be slower
    const Index n = strips.order();
    std::vector<T> memory(static_cast<std::size_t>(n * n));
    const auto square = View<T>::row_major(memory.data(), n, n, n);
    const auto rows = [&](Index s) { return square.block(strips.first(s), 0, strips.rows(s), strips.end(s)); };
    for (Index s = 0; s < strips.count(); ++s) copy_elements<T>(strips.strip(array, s), rows(s));
    const Index info = factor_triangle(Triangle::lower, square);
    for (Index s = 0; s < strips.count(); ++s) copy_elements<T>(rows(s), strips.strip(array, s));
    return info;
}

template <class T>
void prepare_solve(const TriangleStrips& strips, const T* array, View<T> rows, T* scale) {
    for (Index s = 0; s < strips.count(); ++s) {
        const View<const T> strip = strips.strip(array, s);
        for (Index i = 0; i < strips.rows(s); ++i) {
            const Index row = strips.first(s) + i;
            for (Index j = 0; j <= row; ++j) rows(row, j) = strip(i, j);
            scale[row] = T{1} / strip(i, row);
        }
    }
}

template <class T>
void solve_rows(std::type_identity_t<View<const T>> l, const T* scale, View<T> p) {
    constexpr Index rows_at_once = 256;
    const Index n = l.rows();
    std::vector<T> packed(static_cast<std::size_t>(packed_size<T>(n, std::min(rows_at_once, p.rows()))));
    for (Index first = 0; first < p.rows(); first += rows_at_once) {
        const View<T> rows = p.block(first, 0, std::min(rows_at_once, p.rows() - first), n);
        solve_and_pack<T>(l, scale, transposed(rows), packed.data());
    }
}

template Index factor_strips<float>(const TriangleStrips&, float*);
template Index factor_strips<double>(const TriangleStrips&, double*);
template void prepare_solve<float>(const TriangleStrips&, const float*, View<float>, float*);
template void prepare_solve<double>(const TriangleStrips&, const double*, View<double>, double*);
template void solve_rows<float>(View<const float>, const float*, View<float>);
template void solve_rows<double>(View<const double>, const double*, View<double>);

}  // namespace basalt::cpu_kernels
