#pragma once

#include <memory>
#include <vector>

#include <basalt/view.hpp>

#include "tuner/candidate.hpp"

namespace basalt::tuner {

/// Operands of a batch in the host's memory, laid out as CandidateArguments has them: numbers of the problem's
/// precision as bytes. What a problem does not use is empty.
struct BatchData {
    std::vector<unsigned char> a, b, tau;
    std::vector<Index> pivots, info;
};

/// A batch whose results can be checked without another implementation: by their backward errors.
class BatchCheck {
  public:
    /// As many matrices as a check of all blocks' shapes takes: pseudo-random, with diagonals that dominate where the
    /// routine is Cholesky. Unless the job is BatchJob::solve, matrix `failing` must fail at a known pivot.
    static std::unique_ptr<BatchCheck> make(const Problem& problem);
    virtual ~BatchCheck() = default;

    Index count() const { return count_; }
    static constexpr Index failing = 1;

    /// Before the kernel. Factors of BatchJob::solve come from plain loops.
    const BatchData& input() const { return input_; }

    /// The largest backward error of the matrices, relative to n times the rounding error; about 1 for sound kernels.
    /// Infinite where INFO is wrong, or right-hand sides of the matrix that fails have changed; QR may change those.
    virtual double worst_ratio(const BatchData& result) const = 0;

  protected:
    BatchCheck(const Problem& problem, Index count) : problem_(problem), count_(count) {}

    const Problem problem_;
    const Index count_;
    BatchData input_;
};

/// Results with a larger ratio are wrong, as in the program's other checks.
inline constexpr double passing_batch_ratio = 30;

}  // namespace basalt::tuner
