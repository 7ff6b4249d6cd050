#pragma once

#include <string>
#include <vector>

#include <basalt/generator.hpp>

namespace bench {

/// A solution by the vendor's library.
struct VendorRun {
    std::string name;
    double seconds;  ///< median
    int iterations;  ///< of refinement; negative where it fell back
    bool refines;    ///< whether it is a solver with refinement, not one in double
};

/// cuSOLVER's dgesv and its solvers with iterative refinement (single, TF32, bf16, fp16) for a matrix in the memory of
/// GPU 0. Empty in a build without CUDA.
std::vector<VendorRun> vendor_refinement(basalt::Index n, basalt::Index nrhs, int repeat,
                                         const basalt::Generator<double>& a, const std::vector<double>& b);

}  // namespace bench
