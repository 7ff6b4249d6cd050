#include <algorithm>
#include <cassert>
#include <type_traits>
#include <vector>

#include "kernels/cpu/products/gemm.hpp"
#include "kernels/inverted_block.hpp"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/matrix.hpp"
#include "kernels/on_stream/products.hpp"
#include "kernels/on_stream/triangle.hpp"
#include "kernels/rounding.hpp"

namespace basalt::on_stream {

namespace {

// Columns of U that are packed at a time: what stays in the second cache next to a few rows of L and C.
constexpr Index packed_cols = 256;

/// Calls visit(tile column, first column, columns) for parts of all tile columns, at most packed_cols wide.
template <class T, class Visit>
void for_each_part(const TileColumns<T>& group, Visit visit) {
    for (Index l = 0; l < group.columns; ++l) {
        for (Index first = 0; first < group.width; first += packed_cols) {
            visit(l, first, std::min(packed_cols, group.width - first));
        }
    }
}

template <class T>
std::vector<std::remove_const_t<T>> pack_space(const TileColumns<T>& u) {
    using Element = std::remove_const_t<T>;
    const Index size = packed_size<Element>(u.rows, std::min(u.width, packed_cols));
    return std::vector<Element>(static_cast<std::size_t>(size));
}

/// The matrix with its elements rounded, row-major and dense in `memory`.
View<const float> rounded(View<const float> a, std::vector<float>& memory) {
    memory.resize(static_cast<std::size_t>(a.size()));
    const auto copy = View<float>::row_major(memory.data(), a.rows(), a.cols(), a.cols());
    for (Index i = 0; i < a.rows(); ++i) {
        for (Index j = 0; j < a.cols(); ++j) copy(i, j) = rounded_to_tf32(a(i, j));
    }
    return copy;
}

/// target = X W, which may be the same.
template <class T>
void multiply(View<const T> x, View<const T> w, View<T> target, std::vector<T>& packed) {
    pack_b<T>(w, packed.data());
    // gemm_minus() subtracts: from zero, with W negated
    std::transform(packed.begin(), packed.end(), packed.begin(), [](T value) { return -value; });
    for (Index i = 0; i < target.rows(); ++i) std::fill_n(&target(i, 0), target.cols(), T{0});
    gemm_minus<T>(target, x, packed.data());
}

}  // namespace

template <class T>
void run_on_cpu(SolveByInverse<T>, View<const T> x, TileColumns<const T> w, TileColumns<T> u) {
    assert(x.rows() == u.rows && x.cols() == w.rows && w.columns == u.columns && w.width == u.width);
    std::vector<T> packed = pack_space(w);
    for_each_part(u, [&](Index l, Index first, Index cols) {
        multiply<T>(x, w.column(l).block(0, first, w.rows, cols), u.column(l).block(0, first, u.rows, cols), packed);
    });
}

template <class T>
void run_on_cpu(SolveByInverses<T>, View<const T> l, View<const T> x, TileColumns<const T> w, TileColumns<T> u) {
    assert(l.rows() == u.rows && l.cols() == u.rows && w.rows == u.rows && w.columns == u.columns &&
           w.width == u.width);
    assert(x.rows() == u.rows && x.cols() == inverted_block);
    if (w.data != u.data) copy_tile_columns<T>.on_cpu(w, u);
    std::vector<T> packed = pack_space(u.row_range(0, std::min(inverted_block, u.rows)));
    for_each_part(u, [&](Index j, Index first, Index cols) {
        for (Index top = 0; top < u.rows; top += inverted_block) {
            const Index order = std::min(inverted_block, u.rows - top), below = top + order;
            const View<T> solved = u.column(j).block(top, first, order, cols);
            multiply<T>(x.block(top, 0, order, order), solved, solved, packed);
            pack_b<T>(solved, packed.data());
            gemm_minus<T>(u.column(j).block(below, first, u.rows - below, cols),
                          l.block(below, top, u.rows - below, order), packed.data());
        }
    });
}

template <class T>
void run_on_cpu(SolveBySubstitution<T>, View<const T> l, TileColumns<const T> w, TileColumns<T> u) {
    assert(l.rows() == u.rows && l.cols() == u.rows && w.rows == u.rows);
    copy_tile_columns<T>.on_cpu(w, u);
    std::vector<T> packed = pack_space(u);
    for_each_part(u, [&](Index j, Index first, Index cols) {
        solve_and_pack<T>(l, nullptr, u.column(j).block(0, first, u.rows, cols), packed.data());
    });
}

template <class T>
void run_on_cpu(UpdateTrailing<T>, View<const T> l, TileColumns<const T> u, TileColumns<T> c,
                ProductPrecision precision) {
    assert(l.rows() == c.rows && l.cols() == u.rows && u.columns == c.columns && u.width == c.width);
    std::vector<T> packed = pack_space(u);
    if constexpr (std::is_same_v<T, float>) {
        if (precision == ProductPrecision::tf32) {
            std::vector<float> l_memory, u_memory;
            const View<const float> rounded_l = rounded(l, l_memory);
            for_each_part(c, [&](Index j, Index first, Index cols) {
                pack_b<T>(rounded(u.column(j).block(0, first, u.rows, cols), u_memory), packed.data());
                gemm_minus<T>(c.column(j).block(0, first, c.rows, cols), rounded_l, packed.data());
            });
            return;
        }
    }
    for_each_part(c, [&](Index j, Index first, Index cols) {
        pack_b<T>(u.column(j).block(0, first, u.rows, cols), packed.data());
        gemm_minus<T>(c.column(j).block(0, first, c.rows, cols), l, packed.data());
    });
}

template <>
const SolveByInverse<float>::Cpu Code<SolveByInverse<float>>::cpu = cpu_code<SolveByInverse<float>>;
template <>
const SolveByInverse<double>::Cpu Code<SolveByInverse<double>>::cpu = cpu_code<SolveByInverse<double>>;
template <>
const SolveByInverses<float>::Cpu Code<SolveByInverses<float>>::cpu = cpu_code<SolveByInverses<float>>;
template <>
const SolveByInverses<double>::Cpu Code<SolveByInverses<double>>::cpu = cpu_code<SolveByInverses<double>>;
template <>
const SolveBySubstitution<float>::Cpu Code<SolveBySubstitution<float>>::cpu = cpu_code<SolveBySubstitution<float>>;
template <>
const SolveBySubstitution<double>::Cpu Code<SolveBySubstitution<double>>::cpu = cpu_code<SolveBySubstitution<double>>;
template <>
const UpdateTrailing<float>::Cpu Code<UpdateTrailing<float>>::cpu = cpu_code<UpdateTrailing<float>>;
template <>
const UpdateTrailing<double>::Cpu Code<UpdateTrailing<double>>::cpu = cpu_code<UpdateTrailing<double>>;

}  // namespace basalt::on_stream
