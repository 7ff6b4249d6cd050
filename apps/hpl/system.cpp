#include "apps/hpl/system.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "apps/input/matrix_memory.hpp"

namespace basalt {

namespace {

double sum_of_magnitudes(const std::vector<double>& x) {
    double sum = 0;
    for (const double value : x) sum += std::abs(value);
    return sum;
}

}  // namespace

void take_block_size(LuPlan& plan, const Settings& settings, Index nb) {
    if (settings.tile() == TileShape{}) plan.tile.width = std::max<Index>(1, (plan.tile.width + nb / 2) / nb) * nb;
    plan.options.panel_width = plan.panel_width = std::min(nb, plan.tile.width);
}

LuPlan hpl_plan(const Settings& settings, const GpuOptions& gpu, const Runtime& runtime, Index n, Index nb) {
    const Index panel = std::min(nb, std::max<Index>(n, 1));
    LuPlan plan = lu_plan(settings, gpu, runtime, n, n + 1, sizeof(double), panel, "hpl");
    take_block_size(plan, settings, panel);
    plan.options.left_interchanges = false;  // HPL does not arrange L as LAPACK does either
    if (plan.mode != LuMode::cpu && settings.value("BASALT_DATA").origin == "default") plan.data = Place::any();
    plan_moves(plan, runtime, n, n + 1, sizeof(double));
    if (!plan.fits_gpus && !data_on_gpus(settings)) plan.data = Place::cpu();
    return plan;
}

void require_room_for_hpl(const Settings& settings, const GpuOptions& gpu, const Runtime& runtime, Index n, Index nb) {
    const LuPlan plan = hpl_plan(settings, gpu, runtime, n, nb);
    constexpr double vectors = 6;  // b, x, the residual, the row sums, and two to multiply with
    const double others =
        matrix_bytes(n, 1, plan.tile, sizeof(double)) + vectors * static_cast<double>(n) * sizeof(double);
    const std::string advice =
        plan.fits_gpus ? ""
                       : fmt::format("; the largest N for that is {}", largest_hpl_order(settings, gpu, runtime, nb));
    require_room(plan, runtime, n, n + 1, sizeof(double), others, fmt::format("the system of N = {} (NB = {})", n, nb),
                 advice);
}

Index largest_hpl_order(const Settings& settings, const GpuOptions& gpu, const Runtime& runtime, Index nb) {
    Index fits = 0, too_large = Index{1} << 28;  // 2^59 bytes
    while (runtime.gpus() > 0 && too_large - fits > 1) {
        const Index middle = fits + (too_large - fits) / 2;
        const LuPlan plan = hpl_plan(settings, gpu, runtime, middle, nb);
        (plan.mode != LuMode::cpu && !plan.fits_gpus ? too_large : fits) = middle;
    }
    return hpl_plan(settings, gpu, runtime, fits, nb).mode == LuMode::cpu ? 0 : fits;
}

std::vector<double> entries_of(const Matrix<double>& column) {
    std::vector<double> entries(static_cast<std::size_t>(column.rows()));
    if (entries.empty()) return entries;
    const auto view = column.host_view(0);
    for (Index i = 0; i < column.rows(); ++i) entries[static_cast<std::size_t>(i)] = view(i, 0);
    return entries;
}

HplCheck hpl_check(const SystemNorms& norms, const std::vector<double>& x, const std::vector<double>& b) {
    constexpr double epsilon = 0x1p-53;
    HplCheck check;
    check.residual_inf = norms.residual_inf;
    check.a_inf = norms.a_inf;
    check.x_inf = max_magnitude(x);
    check.x_one = sum_of_magnitudes(x);
    check.b_inf = max_magnitude(b);
    check.scaled_residual =
        check.residual_inf / (epsilon * (check.a_inf * check.x_inf + check.b_inf) * static_cast<double>(x.size()));
    return check;
}

double hpl_flops(Index n) { return hpl_gflops(n, 1.0) * 1e9; }

HplSystem::HplSystem(Runtime& runtime, Index n, const LuPlan& plan)
    : runtime_(runtime),
      n_(n),
      options_(plan.options),
      stays_on_gpus_(plan.stays_on_gpus()),
      generator_(make_generator<double>("hpl", n, n + 1)),
      system_(make_matrix<double>(plan, runtime, generator_, n, n + 1)) {}

HplTiming HplSystem::solve() {
    HplTiming timing;
    timing.start = std::time(nullptr);
    const auto start = std::chrono::steady_clock::now();
    const auto lu = lu_factor(runtime_, system_, options_);
    solution_ = lu_solve_augmented(runtime_, lu);
    runtime_.wait();
    timing.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    timing.end = std::time(nullptr);
    panels_ = lu.panel_places();
    return timing;
}

HplCheck HplSystem::check() {
    if (n_ == 0) return {};
    const std::vector<double> x = entries_of(solution_);
    std::vector<double> b(static_cast<std::size_t>(n_));
    generator_->fill(View<double>(b.data(), n_), 0, n_);
    if (stays_on_gpus_) system_.fill(generator_, Place::any());
    const SystemNorms norms =
        stays_on_gpus_ ? system_norms_on_gpus(runtime_, system_, x, b) : system_norms(runtime_, *generator_, x, b);
    return hpl_check(norms, x, b);
}

double HplSystem::a_one() const { return one_norm(runtime_, *generator_, n_); }

}  // namespace basalt
