#pragma once

#include <basalt/view.hpp>

#include "kernels/cuda/batch/choices.hpp"

/// What host and GPU agree on for the kernels that the tuner compiles.
namespace basalt::cuda_detail::batch {

/// What a kernel does with a batch.
enum class BatchJob { factor, solve, factor_solve };

/// The only argument of every candidate. Matrices are column-major, without gaps, one behind the other.
struct CandidateArguments {
    void* a;  ///< rows x cols each
    void* b;  ///< rows x 1 each; not used by BatchJob::factor
    void* tau;
    Index* pivots;
    Index* info;
    Index count;
    int rows, cols;
};

}  // namespace basalt::cuda_detail::batch
