#include "tuner/candidate.hpp"

#include <array>
#include <bit>
#include <string_view>

#include <fmt/format.h>

#include "kernels/cuda/batch/panels.hpp"
#include "kernels/cuda/batch/triangle_shape.hpp"

namespace basalt::tuner {

namespace {

namespace device = cuda_detail::batch;

constexpr std::array routine_names{"cholesky", "lu", "qr"};
constexpr std::array job_names{"factor", "solve", "both"};
constexpr std::array residence_names{"lanes", "shared", "global", "tiles"};

template <class Enum, std::size_t count>
std::optional<Enum> value_named(const std::array<const char*, count>& names, std::string_view name) {
    for (std::size_t i = 0; i < count; ++i) {
        if (names[i] == name) return static_cast<Enum>(i);
    }
    return std::nullopt;
}

constexpr std::array jobs_in_source{"factor", "solve", "factor_solve"};

}  // namespace

const char* name_of(Routine routine) { return routine_names[static_cast<std::size_t>(routine)]; }
const char* name_of(BatchJob job) { return job_names[static_cast<std::size_t>(job)]; }
const char* name_of(Residence residence) { return residence_names[static_cast<std::size_t>(residence)]; }
char letter_of(Precision precision) { return precision == Precision::single ? 's' : 'd'; }

std::optional<Routine> routine_named(const std::string& name) { return value_named<Routine>(routine_names, name); }
std::optional<BatchJob> job_named(const std::string& name) { return value_named<BatchJob>(job_names, name); }
std::optional<Residence> residence_named(const std::string& name) {
    return value_named<Residence>(residence_names, name);
}

std::string name_of(const Problem& problem) {
    return fmt::format("{} {} {} {}", name_of(problem.routine), name_of(problem.job), letter_of(problem.precision),
                       problem.n);
}

std::string name_of(const Candidate& candidate) {
    const Arithmetic& relaxed = candidate.arithmetic;
    return fmt::format("{} w{} t{}/{} b{}{}{}{}", name_of(candidate.residence), candidate.width, candidate.threads,
                       candidate.bound, candidate.resident_blocks, relaxed.approximate_roots ? " sqrt" : "",
                       relaxed.approximate_quotients ? " div" : "", relaxed.denormals_to_zero ? " ftz" : "");
}

bool has_kernels(const Problem& problem) {
    if (problem.routine == Routine::qr) return problem.job != BatchJob::solve;
    return problem.routine == Routine::cholesky || problem.job != BatchJob::factor_solve || problem.n <= 32;
}

int matrices_a_block(const Problem& problem, const Candidate& candidate) {
    if (candidate.residence != Residence::lanes) return 1;
    const bool single = problem.precision == Precision::single, solves = problem.job == BatchJob::solve;
    const int order = candidate.width;
    const int lanes = problem.routine != Routine::cholesky
                          ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(order)))
                      : !solves ? device::lanes_to_factor(order)
                      : single  ? device::lanes_to_solve<float>(order)
                                : device::lanes_to_solve<double>(order);
    return candidate.threads / lanes;
}

std::string source_of(const Problem& problem, const Candidate& candidate) {
    const char* const number = problem.precision == Precision::single ? "float" : "double";
    const std::string job = fmt::format("BatchJob::{}", jobs_in_source[static_cast<std::size_t>(problem.job)]);
    const std::string routine = name_of(problem.routine);
    std::string body;
    if (candidate.residence == Residence::lanes) {
        body = fmt::format("{}_in_lanes<{}, {}, {}, {}>", routine, job, candidate.width, candidate.threads, number);
    } else if (problem.routine == Routine::cholesky && problem.job == BatchJob::factor &&
               candidate.residence == Residence::tiles) {
        const auto registers = device::tiles_factor_registers(candidate.bound, candidate.resident_blocks);
        body = fmt::format("cholesky_by_tiles<Registers::{}, {}>", registers == device::Registers::few ? "few" : "many",
                           number);
    } else if (problem.routine == Routine::qr) {
        body = fmt::format("qr_in_block<{}, {}, {}, {}>", job, candidate.width, candidate.bound / 32, number);
    } else {
        body = fmt::format("{}_in_block<{}, Residence::{}, {}, {}>", routine, job, name_of(candidate.residence),
                           candidate.width, number);
    }
    return fmt::format(
        "#include \"kernels/cuda/batch/candidates.cuh\"\n"
        "using namespace basalt::cuda_detail::batch;\n"
        "extern \"C\" __global__ void __launch_bounds__({}, {}) candidate(CandidateArguments arguments) {{\n"
        "    {}(arguments);\n}}\n",
        candidate.bound, candidate.resident_blocks, body);
}

std::vector<std::string> compiler_options(const Candidate& candidate, const std::string& architecture) {
    std::vector<std::string> options{"--gpu-architecture=" + architecture, "--std=c++20",
                                     "--device-as-default-execution-space", "--ptxas-options=-v"};
    if (candidate.arithmetic.approximate_roots) options.emplace_back("--prec-sqrt=false");
    if (candidate.arithmetic.approximate_quotients) options.emplace_back("--prec-div=false");
    if (candidate.arithmetic.denormals_to_zero) options.emplace_back("--ftz=true");
    return options;
}

}  // namespace basalt::tuner
