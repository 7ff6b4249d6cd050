#pragma once

#include <optional>
#include <vector>

#include "tuner/candidate.hpp"
#include "tuner/limits.hpp"

namespace basalt::tuner {

/// Whether the space has kernels without IEEE arithmetic as well: roots, quotients and denormal numbers are given up
/// one after the other.
enum class ArithmeticSpace { ieee, relaxed };

/// All kernels that are sought among, each once, the library's own first. Panels have the widths ceil(n / k) for all k,
/// rounded up to what the kernels take, and numbers of threads are powers of two.
std::vector<Candidate> candidates(const Problem& problem, const GpuLimits& limits, ArithmeticSpace arithmetic);

/// The kernels that the library itself has for the problem: one for each width that its plan may name.
std::vector<Candidate> library_candidates(const Problem& problem, const GpuLimits& limits);

/// Which limit a kernel exceeds before it is compiled.
enum class Pruned {
    width,      ///< a warp's lanes do not hold the square on the diagonal, or the matrix
    threads,    ///< of a block, or of the blocks that are to share a multiprocessor
    shared,     ///< likewise
    registers,  ///< the numbers that a thread keeps in registers are more than it may have
};
inline constexpr int pruned_reasons = 4;
const char* name_of(Pruned reason);

/// nullopt: worth compiling.
std::optional<Pruned> why_pruned(const Problem& problem, const Candidate& candidate, const GpuLimits& limits);

}  // namespace basalt::tuner
