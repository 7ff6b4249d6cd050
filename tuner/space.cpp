#include "tuner/space.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <set>

#include "kernels/cuda/batch/cholesky_tiles.hpp"
#include "kernels/cuda/batch/lu_block.hpp"
#include "kernels/cuda/batch/lu_tiles.hpp"
#include "kernels/cuda/batch/panels.hpp"
#include "kernels/cuda/batch/triangle_shape.hpp"

namespace basalt::tuner {

namespace {

namespace device = cuda_detail::batch;

constexpr int lanes = device::lanes, most_block_rows = 512;
constexpr int small_threads = 64;  // of the library's kernels in lanes for orders up to 32
constexpr std::array shared_multiprocessors{1, 2, 4, 8};

int whole(int n, int unit) { return (n + unit - 1) / unit * unit; }

/// Largest order of matrices in lanes.
int most_in_lanes(const Problem& problem) {
    if (problem.routine != Routine::cholesky) return lanes;
    return problem.precision == Precision::single ? device::most_in_lanes<float> : device::most_in_lanes<double>;
}

int word_count(const Problem& problem) { return problem.precision == Precision::single ? 1 : 2; }

/// Columns of a panel: ceil(n / k) for all k, rounded up to whole chunks of shared memory for Cholesky.
std::set<int> widths(const Problem& problem) {
    const int unit = problem.routine == Routine::cholesky ? 4 : 1;
    std::set<int> all;
    for (int k = 1; k <= problem.n; ++k) all.insert(whole((problem.n + k - 1) / k, unit));
    for (const int compiled : {8, 16, 32}) {
        if (compiled < problem.n) all.insert(compiled);
    }
    return all;
}

/// Threads of a block that treats one matrix. A thread has a row; only Cholesky's substitutions use further warps.
std::set<int> block_threads(const Problem& problem, Residence residence, int width) {
    if (problem.routine != Routine::cholesky || residence == Residence::tiles) return {whole(problem.n, lanes)};
    const int needed = device::panel_threads(problem.n, width);
    std::set<int> all{needed, static_cast<int>(std::bit_ceil(static_cast<unsigned>(needed)))};
    for (int threads = 2 * lanes; problem.job != BatchJob::factor && threads <= 1024; threads *= 2) {
        if (threads >= needed) all.insert(threads);
    }
    return all;
}

std::vector<Residence> block_residences(const Problem& problem) {
    const bool fused = problem.job == BatchJob::factor_solve;
    if (problem.routine == Routine::cholesky && !fused) {
        std::vector<Residence> all{Residence::shared, Residence::global};
        const bool in_double = problem.precision == Precision::twice;
        if (problem.job == BatchJob::solve || in_double) all.push_back(Residence::tiles);
        return all;
    }
    if (problem.routine == Routine::lu && problem.job == BatchJob::factor) {
        return {Residence::shared, Residence::global, Residence::tiles};
    }
    if (problem.routine == Routine::lu) return {Residence::global, Residence::tiles};
    // panels of QR read finished columns from the GPU's memory
    return {problem.routine == Routine::cholesky ? Residence::shared : Residence::global};
}

/// Columns of a panel, or the right-hand sides that a block treats at once.
int tiles_width(const Problem& problem) {
    const bool single = problem.precision == Precision::single;
    if (problem.job == BatchJob::solve) return single ? device::tile_columns<float> : device::tile_columns<double>;
    if (problem.routine == Routine::cholesky) return device::CholeskyTileMemory::width;
    return single ? device::LuTileMemory<float>::width : device::LuTileMemory<double>::width;
}

class SpaceBuilder {
  public:
    SpaceBuilder(const Problem& problem, const GpuLimits& limits, ArithmeticSpace arithmetic)
        : problem_(problem), limits_(limits) {
        if (arithmetic == ArithmeticSpace::relaxed && problem.precision == Precision::single) {
            arithmetic_ = {{},
                           {.approximate_roots = true},
                           {.approximate_roots = true, .approximate_quotients = true},
                           {.approximate_roots = true, .approximate_quotients = true, .denormals_to_zero = true}};
        }
    }

    std::vector<Candidate> all() {
        for (const Candidate& own : library_candidates(problem_, limits_)) add(own);
        if (problem_.n <= most_in_lanes(problem_)) add_lanes();
        if (problem_.n <= most_block_rows && !(problem_.routine == Routine::lu && fused())) add_blocks();
        return std::move(all_);
    }

  private:
    bool fused() const { return problem_.job == BatchJob::factor_solve; }

    void add(const Candidate& candidate) {
        for (const Arithmetic& arithmetic : arithmetic_) {
            Candidate own = candidate;
            own.arithmetic = arithmetic;
            if (std::find(all_.begin(), all_.end(), own) == all_.end()) all_.push_back(own);
        }
    }
    void add_bounds(Candidate candidate) {
        for (const int blocks : shared_multiprocessors) {
            candidate.bound = candidate.threads;
            candidate.resident_blocks = blocks;
            add(candidate);
        }
    }
    void add_lanes() {
        for (const int order : {whole(problem_.n, 4), device::padded_in_lanes(problem_.n),
                                static_cast<int>(std::bit_ceil(static_cast<unsigned>(whole(problem_.n, 4))))}) {
            if (order > most_in_lanes(problem_)) continue;
            for (int threads = lanes; threads <= 1024; threads *= 2) {
                add_bounds({.residence = Residence::lanes, .width = order, .threads = threads});
            }
        }
    }
    void add_blocks() {
        const bool no_panels = problem_.routine == Routine::lu && problem_.job == BatchJob::solve;
        const std::set<int> all_widths = no_panels ? std::set<int>{1} : widths(problem_);
        for (const Residence residence : block_residences(problem_)) {
            const std::set<int> own{tiles_width(problem_)};
            for (const int width : residence == Residence::tiles ? own : all_widths) {
                for (const int threads : block_threads(problem_, residence, width)) {
                    add_bounds({.residence = residence, .width = width, .threads = threads});
                }
            }
        }
    }

    const Problem problem_;
    const GpuLimits& limits_;
    std::vector<Arithmetic> arithmetic_{{}};
    std::vector<Candidate> all_;
};

/// Of the rows that a lane has.
int words_in_triangle(const Problem& problem, const Candidate& candidate) {
    const int own_lanes = candidate.threads / matrices_a_block(problem, candidate);
    int elements = 0;
    for (int rows = own_lanes; rows < candidate.width + own_lanes; rows += own_lanes) {
        elements += std::min(rows, candidate.width);
    }
    return elements * word_count(problem);
}

/// 32-bit words that a thread holds in registers all the time.
int words_in_registers(const Problem& problem, const Candidate& candidate) {
    const int columns = candidate.width * word_count(problem);
    if (candidate.residence == Residence::lanes) {
        if (problem.routine == Routine::cholesky) return words_in_triangle(problem, candidate);
        return problem.job == BatchJob::solve ? 0 : columns;
    }
    if (problem.job == BatchJob::solve) return 0;
    // the panel and the products for it, unless tensor cores add these up in place
    if (problem.routine == Routine::cholesky && candidate.residence != Residence::tiles) return 2 * columns;
    return columns;
}

Candidate library_lanes(const Problem& problem) {
    const int n = problem.n;
    const int order = device::padded_in_lanes(n);
    const int threads = order <= lanes ? small_threads : lanes;
    const bool single = problem.precision == Precision::single;
    int blocks = 1;
    if (problem.routine == Routine::cholesky && problem.job == BatchJob::factor) {
        blocks = single ? device::lanes_factor_blocks<float>(order) : device::lanes_factor_blocks<double>(order);
    } else if (problem.routine == Routine::cholesky && problem.job == BatchJob::factor_solve) {
        blocks = single ? device::lanes_both_blocks<float>(order) : device::lanes_both_blocks<double>(order);
    }
    return {Residence::lanes, order, threads, threads, blocks};
}

template <int width>
int library_blocks(const Problem& problem) {
    return problem.precision == Precision::single ? device::panel_blocks<float, width>
                                                  : device::panel_blocks<double, width>;
}

std::vector<Candidate> library_cholesky(const Problem& problem) {
    const bool solves = problem.job == BatchJob::solve, single = problem.precision == Precision::single;
    if (solves && !single) {
        return {{Residence::tiles, tiles_width(problem), device::panel_threads(problem.n, device::lanes),
                 device::most_panel_threads, 3}};
    }
    if (solves) {
        constexpr int width = device::unpacked_solve_width, narrow = device::narrow_solve_threads;
        const int bound = problem.n <= narrow ? narrow : device::most_panel_threads;
        return {
            {Residence::global, width, device::panel_threads(problem.n, width), bound, device::unpacked_solve_blocks}};
    }
    if (problem.job == BatchJob::factor && !single && problem.n > device::most_panel_factor) {
        const int threads = device::panel_threads(problem.n, lanes);
        const int bound = device::tiles_factor_bound(threads);
        return {{Residence::tiles, tiles_width(problem), threads, bound, device::tiles_factor_blocks(bound)}};
    }
    std::vector<Candidate> all;
    for (const int width : {8, 16, 32}) {
        const int blocks = width == 8    ? library_blocks<8>(problem)
                           : width == 16 ? library_blocks<16>(problem)
                                         : library_blocks<32>(problem);
        all.push_back(
            {Residence::shared, width, device::panel_threads(problem.n, width), device::most_panel_threads, blocks});
    }
    return all;
}

std::vector<Candidate> library_lu(const Problem& problem, const GpuLimits& limits) {
    const int threads = whole(problem.n, lanes);
    if (problem.job == BatchJob::solve) {
        const bool narrow = threads <= 256;
        return {{Residence::tiles, tiles_width(problem), threads, narrow ? 256 : most_block_rows, narrow ? 3 : 1}};
    }
    const bool single = problem.precision == Precision::single;
    const int most_resident = single ? device::most_resident_lu_order<float> : device::most_resident_lu_order<double>;
    std::vector<Candidate> all;
    for (const int width : {8, 16, 32}) {
        const auto [most, blocks] = device::resident_lu_bounds;
        const Candidate own{Residence::shared, width, threads, most, blocks};
        if (problem.n <= most_resident && shared_bytes(problem, own) <= limits.shared_a_block) all.push_back(own);
    }
    if (!all.empty()) return all;
    const auto [most, blocks] = device::widest_lu_bounds;
    const Candidate tiles{Residence::tiles, tiles_width(problem), threads, most, blocks};
    if (shared_bytes(problem, tiles) <= limits.shared_a_block) return {tiles};
    return {{Residence::global, 8, threads, most, blocks}};
}

std::vector<Candidate> library_qr(const Problem& problem) {
    const int threads = whole(problem.n, lanes);
    if (problem.n > 256) return {{Residence::global, problem.precision == Precision::single ? 8 : 4, threads, 512, 1}};
    const int bound = problem.n > 128 ? 256 : 128;
    if (problem.job == BatchJob::factor) {
        std::vector<Candidate> all{{Residence::global, 8, threads, bound, 1},
                                   {Residence::global, 16, threads, bound, 1}};
        if (problem.n <= 128) all.push_back({Residence::global, 4, threads, bound, 1});
        return all;
    }
    return {{Residence::global, 8, threads, bound, 1}};
}

}  // namespace

std::vector<Candidate> candidates(const Problem& problem, const GpuLimits& limits, ArithmeticSpace arithmetic) {
    return SpaceBuilder(problem, limits, arithmetic).all();
}

std::vector<Candidate> library_candidates(const Problem& problem, const GpuLimits& limits) {
    if (problem.n <= most_in_lanes(problem)) return {library_lanes(problem)};
    std::vector<Candidate> all = problem.routine == Routine::cholesky ? library_cholesky(problem)
                                 : problem.routine == Routine::lu     ? library_lu(problem, limits)
                                                                      : library_qr(problem);
    std::erase_if(all, [&](const Candidate& own) { return why_pruned(problem, own, limits).has_value(); });
    if (all.empty() && problem.routine == Routine::cholesky && problem.job == BatchJob::factor) {
        all.push_back({Residence::global, 16, device::panel_threads(problem.n, 16), device::most_panel_threads, 1});
    }
    return all;
}

const char* name_of(Pruned reason) {
    constexpr std::array<const char*, pruned_reasons> names{"width", "threads", "shared", "registers"};
    return names[static_cast<std::size_t>(reason)];
}

std::optional<Pruned> why_pruned(const Problem& problem, const Candidate& candidate, const GpuLimits& limits) {
    const int widest = candidate.residence == Residence::lanes ? most_in_lanes(problem) : lanes;
    if (candidate.width > widest && candidate.residence != Residence::tiles) return Pruned::width;
    const int blocks = candidate.resident_blocks;
    if (candidate.bound > limits.threads_a_block || candidate.threads * blocks > limits.threads_a_multiprocessor) {
        return Pruned::threads;
    }
    const std::size_t shared = shared_bytes(problem, candidate);
    // of lanes it is declared in the kernel, for which the compiler has a limit of its own
    constexpr std::size_t most_declared = 48 * 1024;
    if (shared > (candidate.residence == Residence::lanes ? most_declared : limits.shared_a_block) ||
        (shared + limits.shared_reserved) * static_cast<std::size_t>(blocks) > limits.shared_a_multiprocessor) {
        return Pruned::shared;
    }
    // what the compiler may use, less the least that addresses and loops take
    constexpr int others = 16;
    const int allowed = std::min(limits.registers_a_thread, limits.registers / (candidate.bound * blocks));
    if (words_in_registers(problem, candidate) + others > allowed) return Pruned::registers;
    return std::nullopt;
}

}  // namespace basalt::tuner
