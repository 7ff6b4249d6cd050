#include "tasks/on_gpus/substitution_on_gpus.hpp"

#include <algorithm>
#include <utility>

#include "kernels/on_stream.hpp"
#include "kernels/on_stream/substitution.hpp"
#include "runtime/engine/gpu_data.hpp"
#include "runtime/engine/gpu_memory.hpp"
#include "runtime/engine/runtime_access.hpp"

namespace basalt::detail {

ColumnGpus gpus_to_solve_on(const MatrixStorage& a, std::size_t bytes) {
    const Runtime& runtime = a.runtime();
    GpuData& data = gpu_data(runtime);
    if (data.gpus_to_deal_to() == 0) return {};
    // a column in the middle of the memory leaves two free ranges, one of which has to hold all the rest
    const std::size_t needed = a.column_bytes() + 2 * bytes;
    ColumnGpus gpus;
    for (Index j = 0; j < a.grid().tile_cols(); ++j) {
        if (data.at_home(*a.datum(j))) return {};
        int gpu = 0;
        while (gpu < runtime.gpus() && !data.valid_on(*a.datum(j), gpu)) ++gpu;
        if (gpu == runtime.gpus() || gpu_memory(runtime).capacity(gpu) < needed) return {};
        gpus.push_back(gpu);
    }
    return gpus;
}

TileRange reached_tiles(const TileGrid& a, const TileGrid& x, Index column, Reach reach) {
    TileRange tiles{0, a.tile_cols()};
    const Index first = x.first_col(column);
    if (reach == Reach::from_diagonal) tiles.begin = a.tile_col_of(first);
    if (reach == Reach::to_diagonal) tiles.end = a.tile_col_of(first + x.tile_width(column) - 1) + 1;
    return tiles;
}

template <class T>
SubstitutionOnGpus<T>::SubstitutionOnGpus(const MatrixStorage& a, ColumnGpus gpus, Index order, const Matrix<T>& x)
    : a_(a), gpus_(std::move(gpus)), order_(order), x_(x) {
    x.share_storage()->pin_what_is_at_home();
}

template <class T>
void SubstitutionOnGpus<T>::solve(Triangle triangle, Diagonal diagonal, MatrixOp op, Reach reach) const {
    for (Index column = 0; column < x_.tile_cols(); ++column) {
        const TileRange tiles = reach == Reach::all
                                    ? TileRange{0, triangle_columns()}
                                    : reached_tiles(a_.grid(), x_.share_storage()->grid(), column, reach);
        solve(column, tiles, triangle, diagonal, op, nullptr);
    }
}

template <class T>
void SubstitutionOnGpus<T>::solve(const DiagonalInverses<T>& inverses, MatrixOp op) const {
    if (one_gpu_has_all()) return solve_whole(inverses, op);
    for (Index column = 0; column < x_.tile_cols(); ++column) {
        solve(column, {0, triangle_columns()}, inverses.triangle(), inverses.diagonal(), op, &inverses);
    }
}

template <class T>
void SubstitutionOnGpus<T>::solve(Index column, TileRange tiles, Triangle triangle, Diagonal diagonal, MatrixOp op,
                                  const DiagonalInverses<T>* inverses) const {
    const bool ascending = (triangle == Triangle::lower) == (op == MatrixOp::plain);
    for (Index i = 0; i < tiles.size(); ++i) {
        const Index j = ascending ? tiles.begin + i : tiles.end - 1 - i;
        submit_tile_column(j, column, part(j, tiles, triangle), triangle, diagonal, op, inverses);
    }
}

template <class T>
DiagonalInverses<T>::DiagonalInverses(const MatrixStorage& a, const ColumnGpus& gpus, Index order, Triangle triangle,
                                      Diagonal diagonal)
    : triangle_(triangle), diagonal_(diagonal) {
    const TileGrid& grid = a.grid();
    const Index count = order == 0 ? 0 : grid.tile_col_of(order - 1) + 1;
    for (Index j = 0; j < count; ++j) {
        const Index first = grid.first_col(j), width = std::min(order, first + grid.tile_width(j)) - first;
        inverses_.emplace_back(a.runtime(), width * on_stream::substituted_block, "inverses");
        a.runtime().submit(
            {.name = "invert blocks",
             .tile = {static_cast<int>(j)},
             .place = Place::gpu(gpus[static_cast<std::size_t>(j)])},
            read(a.template region<T>(j, first, first + width, 0, width)), write(inverses_.back().region()),
            on_any_device([triangle, diagonal](Stream stream, View<const T> t, View<T> inverses) {
                constexpr Index order = on_stream::substituted_block;
                on_stream::invert_diagonal_blocks<T>(stream, triangle, diagonal, t,
                                                     View<T>::row_major(inverses.data(), t.rows(), order, order));
            }));
    }
}

template <class T>
auto SubstitutionOnGpus<T>::part(Index tile_column, TileRange tiles, Triangle triangle) const -> Part {
    const TileGrid& grid = a_.grid();
    const bool lower = triangle == Triangle::lower;
    const Index first = grid.first_col(tile_column), end = std::min(order_, first + grid.tile_width(tile_column));
    const Index row_begin = lower ? first : grid.first_col(tiles.begin);
    const Index row_end = lower ? std::min(order_, grid.first_col(tiles.end)) : end;
    return {end - first, row_begin, row_end, first - row_begin};
}

template <class T>
bool SubstitutionOnGpus<T>::one_gpu_has_all() const {
    const Index count = triangle_columns();
    return count > 0 && count <= TriangleColumns<T>::most &&
           std::all_of(gpus_.begin(), gpus_.begin() + count, [this](int gpu) { return gpu == gpus_.front(); });
}

template <class T>
void SubstitutionOnGpus<T>::solve_whole(const DiagonalInverses<T>& inverses, MatrixOp op) const {
    const Index count = triangle_columns(), width = a_.grid().shape().width;
    for (Index column = 0; column < x_.tile_cols(); ++column) {
        const Index vectors = x_.column(column).cols, x_width = x_.tile_shape().width;
        AccessList data;
        data.readwrite(x_.block(column, 0, order_, 0, vectors));
        for (Index j = 0; j < count; ++j) {
            data.read(a_.template region<T>(j, 0, order_, 0, part(j, {0, count}, Triangle::lower).width));
            data.read(inverses.of_column(j));
        }
        a_.runtime().submit(
            {.name = "solve", .tile = {0, static_cast<int>(column)}, .place = Place::gpu(gpus_.front())}, data,
            on_any_device([triangle = inverses.triangle(), op, order = order_, width, count, vectors, x_width](
                              Stream stream, const Addresses& at) {
                TriangleColumns<T> t;
                t.order = order, t.width = t.ld = width;
                for (Index j = 0; j < count; ++j) {
                    const auto access = static_cast<std::size_t>(1 + 2 * j);
                    t.columns[j] = static_cast<const T*>(at[access]);
                    t.inverses[j] = static_cast<const T*>(at[access + 1]);
                }
                on_stream::substitute_whole<T>(stream, triangle, op, t,
                                               View<T>::row_major(static_cast<T*>(at[0]), order, vectors, x_width),
                                               stream.scratch(on_stream::whole_workspace<T>(order, vectors)));
            }));
    }
}

/// One tile column of A: its square on the diagonal, and the rest of the triangle below or above it.
template <class T>
void SubstitutionOnGpus<T>::submit_tile_column(Index j, Index column, const Part& part, Triangle triangle,
                                               Diagonal diagonal, MatrixOp op,
                                               const DiagonalInverses<T>* inverses) const {
    const Index vectors = x_.column(column).cols, rest = triangle == Triangle::lower ? part.width : 0;
    AccessList data;
    data.read(a_.template region<T>(j, part.row_begin, part.row_end, 0, part.width));
    data.readwrite(x_.block(column, part.row_begin, part.row_end, 0, vectors));
    if (inverses != nullptr) data.read(inverses->of_column(j));
    a_.runtime().submit(
        {.name = "solve",
         .tile = {static_cast<int>(j), static_cast<int>(column)},
         .place = Place::gpu(gpus_[static_cast<std::size_t>(j)])},
        data,
        on_any_device([=, a_ld = a_.grid().shape().width, x_ld = x_.tile_shape().width,
                       by_inverses = inverses != nullptr](Stream stream, const Addresses& at) {
            const Index rows = part.row_end - part.row_begin, others = rows - part.width;
            const auto a = View<const T>::row_major(static_cast<const T*>(at[0]), rows, part.width, a_ld);
            const auto x = View<T>::row_major(static_cast<T*>(at[1]), rows, vectors, x_ld);
            const View<const T> square = a.block(part.square, 0, part.width, part.width);
            const View<const T> other = a.block(rest, 0, others, part.width);
            const View<T> own_x = x.block(part.square, 0, part.width, vectors);
            const View<T> other_x = x.block(rest, 0, others, vectors);
            const bool plain = op == MatrixOp::plain;
            if (!plain) on_stream::subtract_from_rows<T>(stream, transposed(other), other_x, own_x);
            if (by_inverses) {
                TriangleColumns<T> t;
                t.order = t.width = part.width, t.ld = a_ld;
                t.columns[0] = square.data(), t.inverses[0] = static_cast<const T*>(at[2]);
                on_stream::substitute_whole<T>(stream, triangle, op, t, own_x,
                                               stream.scratch(on_stream::whole_workspace<T>(part.width, vectors)));
            } else if (plain) {
                on_stream::solve_triangle<T>(stream, triangle, diagonal, square, own_x);
            } else {
                on_stream::solve_triangle<T>(stream, triangle == Triangle::lower ? Triangle::upper : Triangle::lower,
                                             diagonal, transposed(square), own_x);
            }
            if (plain) on_stream::subtract_from_rows<T>(stream, other, own_x, other_x);
        }));
}

template class DiagonalInverses<float>;
template class DiagonalInverses<double>;
template class SubstitutionOnGpus<float>;
template class SubstitutionOnGpus<double>;

}  // namespace basalt::detail
