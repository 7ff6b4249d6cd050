#include "tasks/mixed/blocked_substitution.hpp"

#include <algorithm>
#include <cstddef>

#include "kernels/cpu/blas/blas.hpp"
#include "kernels/cpu/blas/serial.hpp"
#include "kernels/on_stream.hpp"
#include "kernels/on_stream/substitution.hpp"
#include "tasks/lu/solve_steps.hpp"
#include "tasks/lu/state.hpp"
#include "tasks/on_gpus/priorities.hpp"

namespace basalt::detail {

namespace {

constexpr Index block_order = on_stream::substituted_block;

ColumnGpus gpus_with_factors(const LuFactors<float>& lu, Index right_hand_sides) {
    return gpus_to_solve_on(*lu.share_state()->a,
                            static_cast<std::size_t>(lu.rows() * right_hand_sides) * sizeof(double));
}

}  // namespace

bool BlockedSubstitution::is_possible(const LuFactors<float>& lu, Index right_hand_sides) {
    const ColumnGpus gpus = gpus_with_factors(lu, right_hand_sides);
    const bool one_has_all =
        std::all_of(gpus.begin(), gpus.end(), [&](int gpu) { return gpu == gpus.front(); }) && !gpus.empty();
    return one_has_all && lu.share_state()->inverses.lower && right_hand_sides <= few_right_hand_sides;
}

BlockedSubstitution::BlockedSubstitution(Runtime& runtime, const DoubleColumns& a, const LoweredMatrix& lowered,
                                         const LuFactors<float>& lu, const MixedOptions& options,
                                         Index right_hand_sides)
    : rt_(runtime),
      a_(a),
      lowered_(lowered),
      lu_(lu),
      gpus_(gpus_with_factors(lu, right_hand_sides)),
      forward_by_blocks_(options.substitution == basalt::Substitution::blocked),
      lookahead_(options.substitution_lookahead),
      k_(right_hand_sides) {
    add_blocks();
    const TileGrid& grid = a_.grid();
    const Index count = std::ssize(blocks_), width = grid.shape().width;
    right_sides_ = Matrix<float>(rt_, block_order, count * k_, {block_order, k_}, "right-hand sides of blocks");
    solved_ = Matrix<float>(rt_, block_order, count * k_, {block_order, k_}, "solved blocks");
    x_ = Matrix<double>(rt_, width, grid.tile_cols() * k_, {width, k_}, "x");
    residual_ = Array<double>(rt_, a_.order() * k_, "residual");
    right_sides_.pin();
    solved_.pin();
    x_.pin();
}

void BlockedSubstitution::add_blocks() {
    const TileGrid& grid = a_.grid();
    for (Index j = 0; j < grid.tile_cols(); ++j) {
        const Index first = grid.first_col(j), width = grid.tile_width(j);
        for (Index col = 0; col < width; col += block_order) {
            blocks_.push_back({std::ssize(blocks_), j, col, {first + col, first + std::min(col + block_order, width)}});
        }
    }
}

auto BlockedSubstitution::block(Direction direction, Index step) const -> const Block& {
    const Index number = direction == Direction::forward ? step : std::ssize(blocks_) - 1 - step;
    return blocks_[static_cast<std::size_t>(number)];
}

auto BlockedSubstitution::beyond(Direction direction, const Block& block) const -> Rows {
    return direction == Direction::forward ? Rows{block.rows.end, a_.order()} : Rows{0, block.rows.begin};
}

void BlockedSubstitution::solve(const Matrix<float>& v, const std::vector<double>& scales, const Vectors& b, Vectors& x,
                                Vectors& rest) {
    lu_permute(lu_, v);
    if (forward_by_blocks_) {
        v.share_storage()->pin_what_is_at_home();
        sweep(Direction::forward, v);
    } else {
        const LuState<float>& state = *lu_.share_state();
        SubstitutionOnGpus<float>(*state.a, gpus_, a_.order(), v).solve(*state.inverses.lower);
    }
    finish(b, x, rest, v, scales);
}

void BlockedSubstitution::solve_augmented(const std::vector<double>& scales, const Vectors& b, Vectors& x,
                                          Vectors& rest) {
    finish(b, x, rest, lu_take_augmented(lu_, gpus_), scales);
}

void BlockedSubstitution::finish(const Vectors& b, Vectors& x, Vectors& rest, const Matrix<float>& v,
                                 const std::vector<double>& scales) {
    inverse_scales_.clear();
    for (const double scale : scales) inverse_scales_.push_back(1 / scale);
    b.put(residual_.host_overwrite());
    sweep(Direction::backward, v);
    const TileGrid& grid = a_.grid();
    for (Index j = 0; j < grid.tile_cols(); ++j) {
        const View<double> from = x_.host_view(j);
        const Index first = grid.first_col(j), rows = grid.tile_width(j);
        for (Index i = 0; i < rows; ++i) {
            for (Index c = 0; c < k_; ++c) x(first + i, c) = from(i, c);
        }
    }
    rest = Vectors(b.n(), b.k());
    rest.take(residual_.host_view());
}

/// Each block of the diagonal: solve, update the next blocks, send the first of them to the cores, update the rest.
void BlockedSubstitution::sweep(Direction direction, const Matrix<float>& v) {
    const Index count = std::ssize(blocks_);
    send(v, block(direction, 0));
    for (Index step = 0; step < count; ++step) {
        const Block& solved = block(direction, step);
        const int later = after_urgent(static_cast<int>(step));
        multiply(direction, solved);
        const Index ahead = std::min(lookahead_, count - 1 - step);
        for (Index next = 1; next <= ahead; ++next) {
            const Block& other = block(direction, step + next);
            update(v, solved, other.rows, urgent);
            if (next == 1) send(v, other);
        }
        update(v, solved, beyond(direction, block(direction, step + ahead)), later);
        if (direction == Direction::forward) {
            keep(v, solved, later);
        } else if (solved.col == 0) {
            scale(solved.tile_column);
            subtract_from_residual(solved.tile_column);
        }
    }
}

/// The block's rows of V, on their way to the cores.
void BlockedSubstitution::send(const Matrix<float>& v, const Block& block) {
    rt_.submit({.name = "send block",
                .priority = urgent,
                .tile = {static_cast<int>(block.number)},
                .place = Place::gpu(gpus_.front())},
               read(rows_of(v, block.rows)), write(part(right_sides_, block.number, block.size())),
               on_any_device([](Stream stream, View<const float> from, View<float> to) {
                   on_stream::copy_elements<float>(stream, from, to);
               }));
}

/// Z = T^-1 B for the triangle T of the block. The core multiplies with all of the inverse, whose other side is zero.
void BlockedSubstitution::multiply(Direction direction, const Block& block) {
    const LuInverses<float>& inverses = lu_.share_state()->inverses;
    const auto& of_triangle = direction == Direction::forward ? inverses.lower : inverses.upper;
    rt_.submit(
        {.name = "solve block", .priority = urgent, .tile = {static_cast<int>(block.number)}, .place = Place::cpu()},
        read(of_triangle->of_column(block.tile_column)), read(part(right_sides_, block.number, block.size())),
        write(part(solved_, block.number, block.size())),
        [col = block.col](View<const float> inverses_of_column, View<const float> b, View<float> z) {
            const BlasSerial serial;
            const auto inverse = View<const float>::row_major(inverses_of_column.data() + col * block_order, z.rows(),
                                                              z.rows(), block_order);
            blas::gemm<float>(1, inverse, b, 0, z);
        });
}

/// V(rows) -= T(rows, block) Z, T being what the factors hold there.
void BlockedSubstitution::update(const Matrix<float>& v, const Block& solved, Rows rows, int priority) {
    if (rows.begin == rows.end) return;
    const Region<float> factors = lu_.share_state()->a->region<float>(solved.tile_column, rows.begin, rows.end,
                                                                      solved.col, solved.col + solved.size());
    rt_.submit({.name = "update block",
                .priority = priority,
                .tile = {static_cast<int>(solved.number)},
                .place = Place::gpu(gpus_.front())},
               read(factors), read(part(solved_, solved.number, solved.size())), readwrite(rows_of(v, rows)),
               on_any_device([](Stream stream, View<const float> t, View<const float> z, View<float> to) {
                   on_stream::subtract_from_rows<float>(stream, t, z, to);
               }));
}

/// V gets what the core has solved.
void BlockedSubstitution::keep(const Matrix<float>& v, const Block& solved, int priority) {
    rt_.submit({.name = "keep block",
                .priority = priority,
                .tile = {static_cast<int>(solved.number)},
                .place = Place::gpu(gpus_.front())},
               read(part(solved_, solved.number, solved.size())), write(rows_of(v, solved.rows)),
               on_any_device([](Stream stream, View<const float> from, View<float> to) {
                   on_stream::copy_elements<float>(stream, from, to);
               }));
}

/// The tile column's rows of x = C Z / scales, from all of its blocks.
void BlockedSubstitution::scale(Index tile_column) {
    std::vector<Region<float>> solved;
    for (const Block& block : blocks_) {
        if (block.tile_column == tile_column) solved.push_back(part(solved_, block.number, block.size()));
    }
    rt_.submit({.name = "scale x", .tile = {static_cast<int>(tile_column)}, .place = Place::cpu()}, read(solved),
               write(part(x_, tile_column, a_.grid().tile_width(tile_column))),
               [this, first = a_.grid().first_col(tile_column)](Views<const float> blocks, View<double> x) {
                   const double* const cols = lowered_.factors().cols.data() + first;
                   Index row = 0;
                   for (const View<const float>& block : blocks) {
                       for (Index i = 0; i < block.rows(); ++i, ++row) {
                           for (Index c = 0; c < k_; ++c) {
                               x(row, c) = static_cast<double>(block(i, c)) * cols[row] *
                                           inverse_scales_[static_cast<std::size_t>(c)];
                           }
                       }
                   }
               });
}

/// residual -= A(:, j) x(j) in double.
void BlockedSubstitution::subtract_from_residual(Index tile_column) {
    const Index j = tile_column, rows = a_.grid().tile_width(j);
    const Index priority = std::ssize(blocks_);  // below that of all updates
    AccessList data;
    a_.add_to(data, j, 0, a_.order());
    const std::size_t vectors = data.records().size();
    data.read(part(x_, j, rows)).readwrite(residual_.region());
    rt_.submit({.name = "residual",
                .priority = after_urgent(static_cast<int>(priority)),
                .tile = {static_cast<int>(j)},
                .place = Place::gpu(gpus_.front())},
               data, on_any_device([this, vectors, j, rows](Stream stream, const Addresses& at) {
                   const View<const double> a = a_.on_gpu(stream, at.data(), j);
                   const auto x = View<double>::row_major(static_cast<double*>(at[vectors]), rows, k_, k_);
                   const auto to = View<double>::row_major(static_cast<double*>(at[vectors + 1]), a_.order(), k_, k_);
                   on_stream::subtract_product<double, double>(stream, a, MatrixPart::all, 0, x, to);
               }));
}

}  // namespace basalt::detail
