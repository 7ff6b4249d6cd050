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
    /// c -= a b, where c is m x n and a is m x k.
    static void gemm(basalt::Index m, basalt::Index n, basalt::Index k, const double* a, const double* b, double* c);
};

template <>
struct Vendor<float> {
    static basalt::Index getrf(basalt::Index m, basalt::Index n, float* a, std::vector<lapack_int>& pivots);
    static void gemm(basalt::Index m, basalt::Index n, basalt::Index k, const float* a, const float* b, float* c);
};

/// Sets the number of threads of OpenBLAS's later calls.
void set_vendor_threads(int threads);

/// Name and version, for example "OpenBLAS 0.3.21", and the processor type whose kernels it has chosen.
std::string vendor_version();
std::string vendor_core();

/// A note about settings that slow OpenBLAS down: variables for its processor type or cache size, or vectors narrower
/// than the processor's. Empty if there are none.
std::string vendor_note();

/// Makes OpenBLAS use the kernels of processor type `core`, or of its own choice for "auto". It restarts this program
/// with (or without) the variables that OpenBLAS reads when it is loaded, and returns in the program that uses these
/// kernels. Throws std::invalid_argument if OpenBLAS knows no such type, std::system_error if the program cannot be
/// started.
void require_vendor_core(const std::string& core, char** argv);

}  // namespace bench
