#include <algorithm>
#include <cassert>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "kernels/cuda/common/block_thread.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/products.hpp"
#include "kernels/on_stream/triangle.hpp"

namespace basalt::on_stream {

namespace {

using namespace cuda_detail;

constexpr int most_threads = most_warps * warp_lanes;

/// `resident` blocks share a multiprocessor, which decides how many registers there are.
template <int tiles, int ahead, int resident>
struct Blocks : StripShape<tiles, ahead> {
    static constexpr int on_multiprocessor = resident;
};
// An operand of floats takes twice the registers, since tensor cores do not multiply it.
template <class T>
constexpr int many_ahead = in_tensor_cores<T> ? 8 : 4;

// Few columns: the products of a step take less time in narrow strips.
template <class T>
using Narrow = Blocks<1, many_ahead<T>, 1>;
// Many: L is read less often. Where strips outnumber multiprocessors, two share one: one computes while the other
// waits.
template <class T>
using Broad = Blocks<unit_tiles, many_ahead<T>, 1>;
using BroadByTwos = Blocks<unit_tiles, 2, 2>;

/// A block of threads a strip; strips of all tile columns are numbered in blockIdx.x.
template <class Method, class Shape, bool wide, class T>
__global__ void __launch_bounds__(most_threads, Shape::on_multiprocessor)
    solve_kernel(View<const T> l, View<const T> inverses, TileColumns<const T> w, TileColumns<T> u, unsigned strips) {
    __shared__ StripMemory<T> shared;
    const Index column = blockIdx.x / strips, first = blockIdx.x % strips * Shape::cols;
    solve_strip<Method, Shape, wide>(
        BlockThread(), shared,
        Strip<T>{l.data(), l.row_stride(), inverses.data(), inverses.row_stride(), w.data + column * w.stride + first,
                 w.ld, u.data + column * u.stride + first, u.ld, static_cast<int>(u.rows),
                 static_cast<int>(min(static_cast<Index>(Shape::cols), u.width - first))});
}

template <class T>
bool in_pairs(View<const T> a) {
    return reinterpret_cast<std::uintptr_t>(a.data()) % sizeof(Pair<T>) == 0 && a.row_stride() % 2 == 0;
}

template <class T>
bool in_pairs(const TileColumns<T>& a) {
    return reinterpret_cast<std::uintptr_t>(a.data) % sizeof(Pair<T>) == 0 && a.stride % 2 == 0 && a.ld % 2 == 0 &&
           a.width % 2 == 0;
}

template <class Method, class Shape, class T>
void launch_solve(Stream stream, View<const T> l, View<const T> inverses, TileColumns<const T> w, TileColumns<T> u) {
    const auto strips = static_cast<unsigned>(divide_up(u.width, Shape::cols));
    const auto threads = static_cast<unsigned>(warps_for(u.rows) * warp_lanes);
    const bool wide = in_pairs(l) && in_pairs(inverses) && in_pairs(w) && in_pairs(u);
    const auto kernel = wide ? solve_kernel<Method, Shape, true, T> : solve_kernel<Method, Shape, false, T>;
    kernel<<<blocks(strips_grid(u.columns, u.width, Shape::cols)), threads, 0, native(stream)>>>(l, inverses, w, u,
                                                                                                 strips);
    check_launch("solve_kernel", stream);
}

/// Whether all strips of that shape can be in work at once.
template <class Shape, class T>
bool at_once(Stream stream, const TileColumns<T>& u) {
    return u.columns * divide_up(u.width, Shape::cols) <= stream.context()->multiprocessors;
}

/// At most most_solved_rows rows. The shapes give equal bits.
template <class Method, class T>
void solve_at_once(Stream stream, View<const T> l, View<const T> inverses, TileColumns<const T> w, TileColumns<T> u) {
    if (at_once<Narrow<T>>(stream, u)) return launch_solve<Method, Narrow<T>>(stream, l, inverses, w, u);
    if (at_once<Broad<T>>(stream, u)) return launch_solve<Method, Broad<T>>(stream, l, inverses, w, u);
    launch_solve<Method, BroadByTwos>(stream, l, inverses, w, u);
}

/// Any number of rows: W_i - L_ij U_j goes where U_i will be.
template <class Method, class T>
void solve(Stream stream, View<const T> l, View<const T> inverses, TileColumns<const T> w, TileColumns<T> u) {
    assert(l.rows() == u.rows && l.cols() == u.rows && w.rows == u.rows && w.columns == u.columns &&
           w.width == u.width);
    assert(l.col_stride() == 1 && inverses.col_stride() == 1);
    if (u.empty()) return;
    if (l.row_stride() > std::numeric_limits<int>::max() / most_solved_rows) {
        throw std::length_error("solve: leading dimension " + std::to_string(l.row_stride()) + " exceeds 32 bits in " +
                                std::to_string(most_solved_rows) + " rows");
    }
    for (Index first = 0; first < u.rows; first += most_solved_rows) {
        const Index rows = std::min<Index>(most_solved_rows, u.rows - first);
        const TileColumns<T> part = u.row_range(first, rows);
        TileColumns<const T> right = w.row_range(first, rows);
        if (first > 0) {
            copy_tile_columns<T>(stream, right, part);
            update_trailing<T>(stream, l.block(first, 0, rows, first), u.row_range(0, first), part,
                               ProductPrecision::plain);
            right = part;
        }
        solve_at_once<Method, T>(stream, l.block(first, first, rows, rows),
                                 inverses.empty() ? inverses : inverses.block(first, 0, rows, inverted_block), right,
                                 part);
    }
}

}  // namespace

template <class T>
void run_on_gpu(SolveByInverses<T>, Stream stream, View<const T> l, View<const T> x, TileColumns<const T> w,
                TileColumns<T> u) {
    assert(x.rows() == u.rows && x.cols() == inverted_block);
    solve<ByInverse, T>(stream, l, x, w, u);
}

template <class T>
void run_on_gpu(SolveBySubstitution<T>, Stream stream, View<const T> l, TileColumns<const T> w, TileColumns<T> u) {
    solve<BySubstitution, T>(stream, l, {nullptr, 0, 0, 0, 1}, w, u);
}

template <>
const SolveByInverses<float>::Gpu Code<SolveByInverses<float>>::gpu = gpu_code<SolveByInverses<float>>;
template <>
const SolveByInverses<double>::Gpu Code<SolveByInverses<double>>::gpu = gpu_code<SolveByInverses<double>>;
template <>
const SolveBySubstitution<float>::Gpu Code<SolveBySubstitution<float>>::gpu = gpu_code<SolveBySubstitution<float>>;
template <>
const SolveBySubstitution<double>::Gpu Code<SolveBySubstitution<double>>::gpu = gpu_code<SolveBySubstitution<double>>;

}  // namespace basalt::on_stream
