#include "lapack/abi/rule.hpp"

#include <algorithm>

namespace basalt::lapack {

namespace {

/// What belongs to a routine. Orders and widths were measured on two cores against OpenBLAS 0.3.21 and those of the
/// wheels of NumPy and SciPy (docs/decisions/0037-lapack-abi.md).
struct RoutineFacts {
    const char* name;
    double order;  ///< of the smallest calls that are taken
    double width;  ///< their shortest dimension is at least this
};

// solutions with given factors convert n x n elements for 2 n^2 k operations, condition numbers for 10 n^2
constexpr double never = 1e9;
constexpr RoutineFacts facts[routines] = {
    {"getrf", 2048, 256}, {"getrs", 2048, 256}, {"gesv", 2048, 1},    {"getri", 2048, 1}, {"gecon", never, 1},
    {"potrf", 2048, 1},   {"potrs", 2048, 256}, {"posv", 2048, 1},    {"potri", 2048, 1}, {"pocon", never, 1},
    {"geqrf", 1024, 64},  {"orgqr", 1024, 64},  {"ormqr", 2048, 128}, {"gels", 1024, 64}, {"trtrs", 2048, 256},
    {"trtri", 2048, 1},   {"dsgesv", 2048, 1},  {"dsposv", 2048, 1},
};

/// LAPACK's latdf calls gecon with matrices of this order at most, and takes a null vector from the workspace, where
/// only LAPACK leaves one.
constexpr Index latdf_order = 8;

const RoutineFacts& facts_of(Routine routine) { return facts[static_cast<int>(routine)]; }

struct Dimensions {
    double product;
    double shortest;
};

Dimensions dimensions_of(const Call& call) {
    const auto m = static_cast<double>(call.m), n = static_cast<double>(call.n), k = static_cast<double>(call.k);
    switch (call.routine) {
        case Routine::getrs:
        case Routine::potrs:
        case Routine::trtrs: return {n * n * k, std::min(n, k)};
        case Routine::gesv:
        case Routine::posv:
        case Routine::dsgesv:
        case Routine::dsposv: return {n * n * std::max(n, k), n};
        case Routine::orgqr: return {m * n * k, std::min(n, k)};
        case Routine::ormqr: return {m * n * k, std::min({m, n, k})};
        case Routine::gels: return {m * n * std::max(std::min(m, n), k), std::min(m, n)};
        default: return {m * n * std::min(m, n), std::min(m, n)};
    }
}

}  // namespace

Decision decide(const Call& call, const Settings& settings) {
    if (settings.taking == Taking::none) return Decision::passed_on("BASALT_LAPACK=off");
    if (is_empty(call)) return Decision::passed_on("no elements");
    if (call.a.memory.on_gpu || call.b.memory.on_gpu || call.x.memory.on_gpu) return Decision::taken("in GPU memory");
    if (call.routine == Routine::gecon && call.n <= latdf_order)
        return Decision::passed_on("LAPACK's latdf reads its workspace");
    if (settings.taking == Taking::all) return Decision::taken("BASALT_LAPACK=always");
    const RoutineFacts& routine = facts_of(call.routine);
    const double order = settings.threshold > 0 ? settings.threshold : routine.order;
    const Dimensions dimensions = dimensions_of(call);
    if (dimensions.product < order * order * order) return Decision::passed_on("small");
    if (settings.threshold == 0 && dimensions.shortest < routine.width) return Decision::passed_on("narrow");
    return Decision::taken("large");
}

double operations(const Call& call) {
    const auto m = static_cast<double>(call.m), n = static_cast<double>(call.n), k = static_cast<double>(call.k);
    const double few = std::min(m, n), many = std::max(m, n);
    switch (call.routine) {
        case Routine::getrf: return few * few * (many - few / 3);
        case Routine::getrs:
        case Routine::potrs: return 2 * n * n * k;
        case Routine::gesv:
        case Routine::dsgesv: return 2 * n * n * n / 3 + 2 * n * n * k;
        case Routine::getri: return 4 * n * n * n / 3;
        case Routine::potrf:
        case Routine::trtri: return n * n * n / 3;
        case Routine::posv:
        case Routine::dsposv: return n * n * n / 3 + 2 * n * n * k;
        case Routine::potri: return 2 * n * n * n / 3;
        case Routine::geqrf: return 2 * few * few * (many - few / 3);
        case Routine::orgqr: return 4 * m * n * k - 2 * (m + n) * k * k + 4 * k * k * k / 3;
        case Routine::ormqr: return 2 * m * n * k * (2 - k / (call.side == 'L' ? m : n));
        case Routine::gels: return 2 * few * few * (many - few / 3) + (4 * m * n - few * few) * k;
        case Routine::trtrs: return n * n * k;
        case Routine::gecon:
        case Routine::pocon: return 10 * n * n;
    }
    return 0;
}

const char* name_of(Routine routine) { return facts_of(routine).name; }

}  // namespace basalt::lapack
