#include "tasks/mixed/lowered.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/on_stream/matrix.hpp"
#include "kernels/on_stream/mixed.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "runtime/storage/matrix_storage.hpp"
#include "tasks/mixed/kernel_calls.hpp"
#include "tasks/mixed/scaling.hpp"
#include "tiles/copy.hpp"

namespace basalt::detail {

using on_stream::ScaledRows;

namespace {

constexpr Index elements_a_window = Index{1} << 15;  // 256 KB: measured and rounded while it is in the cache

/// Elements up to this magnitude, and no largest one below its inverse, need no scaling: products are far from the
/// limits of the format.
double largest_without_scaling(ProductPrecision products) {
    const bool half = products == ProductPrecision::fp16 || products == ProductPrecision::split_fp16;
    return half ? 0x1p4 : 0x1p30;
}

std::vector<double> inverses(std::vector<double> powers) {
    for (double& x : powers) x = 1 / x;
    return powers;
}

TileGrid lowered_grid(const DoubleColumns& a, const Vectors* augmented) {
    const Index n = a.order();
    return {n, n + (augmented != nullptr ? augmented->k() : 0), a.grid().shape()};
}

}  // namespace

LoweredMatrix::LoweredMatrix(Runtime& runtime, const DoubleColumns& a, const MixedOptions& options,
                             ProductPrecision products, FactorMode mode, const Vectors* augmented)
    : rt_(runtime),
      a_(a),
      method_(options.method),
      on_gpus_(mode != FactorMode::cpu),
      largest_(largest_without_scaling(products)) {
    const TileGrid grid = lowered_grid(a, augmented);
    low_ = Matrix<float>(runtime, grid.rows(), grid.cols(), grid.shape(), "A in single precision");
    const auto n = static_cast<std::size_t>(a.order());
    factors_ = {std::vector<double>(n, 1.0), std::vector<double>(n, 1.0), {}};
    device_factors_ = Array<double>(runtime, 2 * a.order(), "scaling factors");
    for (int place = 0; place < (on_gpus_ ? runtime.gpus() : 1); ++place) {
        measured_.emplace_back(runtime, (2 + windows()) * a.order(), "magnitudes");
    }
    if (method_ == MixedMethod::cholesky) scale_by_diagonal();
    const Magnitudes found = measure({.of_rows = is_scaled() ? ScaledRows::sums : ScaledRows::largest});
    norm_ = *std::max_element(found.row_sums.begin(), found.row_sums.end());
    for (const double sum : found.row_sums) finite_ = finite_ && std::isfinite(sum);
    if (!finite_) return;
    if (is_scaled()) set_scaled_norm(found);
    if (method_ == MixedMethod::lu && (lacks_scaling(found.row_scaled) || !are_alike(found.col_max))) {
        equilibrate(found);
        set_scaled_norm(measure({.of_rows = ScaledRows::sums}));
    }
    if (augmented != nullptr) add_right_hand_sides(*augmented);
}

bool LoweredMatrix::lacks_scaling(const std::vector<double>& magnitudes) const {
    const double most = *std::max_element(magnitudes.begin(), magnitudes.end());
    const bool in_range = most == 0 || (most <= largest_ && most >= 1 / largest_);
    return !in_range || !are_alike(magnitudes);
}

/// LU: rows, then columns, as LAPACK's geequb does.
void LoweredMatrix::equilibrate(const Magnitudes& found) {
    std::transform(found.row_scaled.begin(), found.row_scaled.end(), factors_.rows.begin(), power_to_one);
    const Magnitudes of_rows_scaled = measure({.rounds = false});
    std::transform(of_rows_scaled.col_max.begin(), of_rows_scaled.col_max.end(), factors_.cols.begin(), power_to_one);
    factors_.inverse_cols = inverses(factors_.cols);
}

/// The scaled magnitudes are sums.
void LoweredMatrix::set_scaled_norm(const Magnitudes& found) {
    scaled_norm_ = *std::max_element(found.row_scaled.begin(), found.row_scaled.end());
}

/// Cholesky: rows and columns alike, as LAPACK's poequb does. In a positive definite matrix no element is larger than
/// the root of the product of the two on the diagonal. Where one is, the factorization breaks down.
void LoweredMatrix::scale_by_diagonal() {
    const std::vector<double> pivots = diagonal();
    if (!lacks_scaling(pivots)) return;
    std::transform(pivots.begin(), pivots.end(), factors_.rows.begin(), power_to_root_of_one);
    factors_.cols = factors_.rows;
    factors_.inverse_cols = inverses(factors_.cols);
}

std::vector<double> LoweredMatrix::diagonal() const {
    const Index n = a_.order();
    std::vector<Array<double>> found;
    for (std::size_t place = 0; place < measured_.size(); ++place) found.emplace_back(rt_, n, "diagonal");
    for (Index j = 0; j < a_.grid().tile_cols(); ++j) {
        const Index first = a_.grid().first_col(j), cols = a_.grid().tile_width(j);
        const auto diagonal_of = [](const View<const double>& a, Index cols) {
            return View<const double>::row_major(a.data(), cols, 1, a.row_stride() + 1);
        };
        const Array<double>& to = found[place_of(j)];
        const TaskOptions options{.name = "diagonal", .tile = {static_cast<int>(j)}, .place = place_for(j)};
        AccessList data;
        a_.add_to(data, j, on_gpus_ ? 0 : first, on_gpus_ ? n : first + cols);
        const std::size_t others = data.records().size();
        data.write(to.rows(first, first + cols));
        if (on_gpus_) {
            rt_.submit(options, data, on_any_device([=, this](Stream stream, const Addresses& at) {
                           const View<const double> square =
                               a_.on_gpu(stream, at.data(), j).block(first, 0, cols, cols);
                           on_stream::copy_elements<double>(
                               stream, diagonal_of(square, cols),
                               View<double>::row_major(static_cast<double*>(at[others]), cols, 1, 1));
                       }));
            continue;
        }
        rt_.submit(options, data, [=, this](const Addresses& at) {
            std::vector<double> memory;
            const View<const double> square = a_.on_cores(at.data(), j, first, first + cols, memory);
            copy_elements<double>(diagonal_of(square, cols),
                                  View<double>::row_major(static_cast<double*>(at[others]), cols, 1, 1));
        });
    }
    std::vector<double> result;
    for (Index j = 0; j < a_.grid().tile_cols(); ++j) {
        const double* const from = found[place_of(j)].host_view().data() + a_.grid().first_col(j);
        result.insert(result.end(), from, from + a_.grid().tile_width(j));
    }
    return result;
}

std::size_t LoweredMatrix::place_of(Index j) const {
    return on_gpus_ ? static_cast<std::size_t>(low_.dealt_to(j).gpu_number()) : 0;
}

Index LoweredMatrix::window_rows() const {
    const TileGrid& grid = low_.share_storage()->grid();
    return on_gpus_ ? std::max<Index>(grid.padded_rows(), 1)
                    : std::max<Index>(8, elements_a_window / grid.shape().width);
}

Index LoweredMatrix::windows() const {
    const TileGrid& grid = low_.share_storage()->grid();
    return (grid.padded_rows() + window_rows() - 1) / window_rows();
}

Magnitudes LoweredMatrix::measure(Pass pass) {
    const Index n = a_.order(), padded_rows = low_.share_storage()->grid().padded_rows();
    double* const factors = device_factors_.host_overwrite().data();
    std::copy(factors_.rows.begin(), factors_.rows.end(), factors);
    std::copy(factors_.cols.begin(), factors_.cols.end(), factors + n);
    std::vector<bool> begun(measured_.size());
    for (Index j = 0; j < a_.grid().tile_cols(); ++j) {
        for (Index begin = 0; begin < padded_rows; begin += window_rows()) {
            submit_window(
                pass, j,
                {.begin = begin, .end = std::min(begin + window_rows(), padded_rows), .first = !begun[place_of(j)]});
        }
        begun[place_of(j)] = true;
    }
    Magnitudes found = collect(pass.of_rows);
    rt_.wait();
    return found;
}

/// The accesses are, as far as there are any: A, the rounded matrix, the factors, and the three parts of the
/// magnitudes.
void LoweredMatrix::submit_window(Pass pass, Index j, const Window& rows) {
    const Index begin = rows.begin, end = rows.end;
    const Index n = a_.order(), width = a_.grid().shape().width, cols = a_.grid().tile_width(j);
    const Index true_end = std::clamp(end, begin, n), window = begin / window_rows();
    const bool measures = true_end > begin, rounds = pass.rounds;
    if (!measures && !rounds) return;
    AccessList data;
    if (begin < n) a_.add_to(data, j, begin, true_end);
    const std::size_t others = data.records().size();
    data.read(device_factors_.region());
    if (rounds) data.write(low_.block(j, begin, end, 0, width));
    const std::size_t parts = data.records().size();
    if (measures) {
        const Array<double>& measured = measured_[place_of(j)];
        const Index maxima = (2 + window) * n;
        for (const auto& part : {measured.rows(begin, true_end), measured.rows(n + begin, n + true_end),
                                 measured.rows(maxima, maxima + n)}) {
            rows.first ? data.write(part) : data.readwrite(part);
        }
    }
    const auto work = [=, first = rows.first](const auto& on, const View<const double>& a, const Addresses& at) {
        const auto* const factors = static_cast<const double*>(at[others]);
        const View<const double> row_factors(factors + begin, a.rows());
        const View<const double> col_factors(factors + n + j * width, cols);
        const auto target = rounds
                                ? View<float>::row_major(static_cast<float*>(at[others + 1]), end - begin, width, width)
                                : View<float>();
        if (measures) {
            const auto part = [&](std::size_t i, Index from, Index size) {
                return View<double>(static_cast<double*>(at[parts + i]) + from, size);
            };
            on(on_stream::measure_magnitudes, a, row_factors, col_factors,
               on_stream::MeasuredMagnitudes{.row_sums = part(0, 0, a.rows()),
                                             .row_scaled = part(1, 0, a.rows()),
                                             .col_max = part(2, j * width, cols),
                                             .more = !first,
                                             .of_rows = pass.of_rows},
               target);
        } else {
            on(on_stream::round_scaled, a, row_factors, col_factors, target);
        }
    };
    const TaskOptions options{
        .name = "round", .tile = {static_cast<int>(window), static_cast<int>(j)}, .place = place_for(j)};
    if (on_gpus_) {
        rt_.submit(options, data, on_any_device([this, j, work](Stream stream, const Addresses& at) {
                       work(InStream{stream}, a_.on_gpu(stream, at.data(), j), at);
                   }));
        return;
    }
    rt_.submit(options, data, [this, j, begin, true_end, work](const Addresses& at) {
        std::vector<double> memory;
        const View<const double> a =
            true_end > begin ? a_.on_cores(at.data(), j, begin, true_end, memory) : View<const double>();
        work(OnCore{}, a, at);
    });
}

Magnitudes LoweredMatrix::collect(ScaledRows of_rows) const {
    const Index n = a_.order();
    const auto order = static_cast<std::size_t>(n);
    Magnitudes found{std::vector<double>(order), std::vector<double>(order), std::vector<double>(order)};
    std::vector<bool> added(measured_.size());
    for (Index j = 0; j < a_.grid().tile_cols(); ++j) {
        const std::size_t place = place_of(j);
        const double* const part = measured_[place].host_view().data();
        if (!added[place]) {
            for (std::size_t i = 0; i < order; ++i) {
                found.row_sums[i] += part[i];
                double& scaled = found.row_scaled[i];
                scaled = of_rows == ScaledRows::sums ? scaled + part[order + i] : std::max(scaled, part[order + i]);
            }
            added[place] = true;
        }
        for (Index window = 0; window < (n + window_rows() - 1) / window_rows(); ++window) {
            const double* const maxima = part + (2 + window) * n;
            const Index begin = a_.grid().first_col(j);
            for (Index c = begin; c < begin + a_.grid().tile_width(j); ++c) {
                double& most = found.col_max[static_cast<std::size_t>(c)];
                most = std::max(most, maxima[c]);
            }
        }
    }
    return found;
}

/// The last tile columns get those of B, scaled, behind those of A.
void LoweredMatrix::add_right_hand_sides(const Vectors& b) {
    const TileGrid& grid = low_.share_storage()->grid();
    for (Index c = 0; c < b.k(); ++c) {
        augmented_scales_.push_back(power_to_one(b.scaled_norm(c, factors_.rows)));
        const Index column = a_.order() + c, j = grid.tile_col_of(column), at = column - grid.first_col(j);
        Array<double> values(rt_, b.n(), "right-hand side");
        double* const to = values.host_overwrite().data();
        for (Index i = 0; i < b.n(); ++i) {
            to[i] = b(i, c) * factors_.rows[static_cast<std::size_t>(i)] * augmented_scales_.back();
        }
        Array<double> ones(rt_, b.n() + 1, "ones");
        std::fill_n(ones.host_overwrite().data(), b.n() + 1, 1.0);
        const auto round = [n = b.n()](const auto& on, View<const double> from, View<const double> one,
                                       View<float> target) {
            on(on_stream::round_scaled, View<const double>::row_major(from.data(), n, 1, 1), one.block(0, 0, n, 1),
               one.block(n, 0, 1, 1), target);
        };
        const auto target = low_.block(j, 0, b.n(), at, at + 1);
        if (on_gpus_) {
            rt_.submit(
                {.name = "round b", .place = low_.dealt_to(j)}, read(values), read(ones), readwrite(target),
                on_any_device([round](Stream stream, View<const double> from, View<const double> one,
                                      View<float> to_column) { round(InStream{stream}, from, one, to_column); }));
        } else {
            rt_.submit({.name = "round b", .place = Place::cpu()}, read(values), read(ones), readwrite(target),
                       [round](View<const double> from, View<const double> one, View<float> to_column) {
                           round(OnCore{}, from, one, to_column);
                       });
        }
    }
    rt_.wait();
}

}  // namespace basalt::detail
