#pragma once

#include <string>
#include <vector>

#include <lapacke.h>

#include <basalt/view.hpp>

namespace bench {

/// OpenBLAS's routines in both precisions, column-major.
template <class T>
struct Vendor;

template <>
struct Vendor<double> {
    /// LAPACKE_dgetrf; returns INFO.
    static basalt::Index getrf(basalt::Index m, basalt::Index n, double* a, std::vector<lapack_int>& pivots);
    /// c -= a b, m x n and k between.
    static void gemm(basalt::Index m, basalt::Index n, basalt::Index k, const double* a, const double* b, double* c);
};

template <>
struct Vendor<float> {
    static basalt::Index getrf(basalt::Index m, basalt::Index n, float* a, std::vector<lapack_int>& pivots);
    static void gemm(basalt::Index m, basalt::Index n, basalt::Index k, const float* a, const float* b, float* c);
};

/// Threads of OpenBLAS's calls from now on.
void set_vendor_threads(int threads);

/// "OpenBLAS 0.3.21", and the processor type whose kernels it has chosen.
std::string vendor_version();
std::string vendor_core();

/// What keeps OpenBLAS from being as fast as it can be here: variables that tell it processor type or cache
/// size, vectors narrower than the processor's. Empty where there is nothing to say.
std::string vendor_note();

/// Makes OpenBLAS use the kernels of processor type `core`, or of its own choice for "auto", by starting this
/// program anew with (or without) the variables that OpenBLAS reads as it is loaded. Returns once it does use
/// them. Throws std::invalid_argument where it has none of that name, std::system_error where the program
/// cannot be started.
void require_vendor_core(const std::string& core, char** argv);

}  // namespace bench
