#pragma once

namespace basalt::lapack {

/// Loads the OpenBLAS that the library's kernels call, unless it is there. Throws Error where there is none.
///
/// The process may have other libraries with the same symbols: the reference BLAS, an OpenBLAS of another version, this
/// one for LAPACK. So this library is not linked to OpenBLAS. It defines the few functions that the kernels call, as
/// its own symbols, and those call the OpenBLAS that is loaded here, which finds its own symbols first.
void blas_behind();

}  // namespace basalt::lapack
