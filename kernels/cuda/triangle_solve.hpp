#pragma once

#include <type_traits>

#include <basalt/device.hpp>

#include "kernels/triangle.hpp"

/// What solving with a factorization consists of, for any number of right-hand sides. All arguments lie in the device's
/// memory; everything is enqueued on the stream, with its cuBLAS handle, and DeviceError is thrown where that fails.
/// The same input gives the same bits. For float and double. CPU twins: kernels/cpu/triangle_solve.hpp.
namespace basalt::cuda_kernels {

/// X = T^-1 X for the named triangle of `t` (n x n), whose other side is not read; X is n x r. Either is row-major or
/// the transpose of such a matrix.
template <class T>
void solve_triangle(Stream stream, Triangle triangle, Diagonal diagonal, std::type_identity_t<View<const T>> t,
                    View<T> x);

/// Y -= A X, for A row-major or the transpose of such a matrix. X and Y are row-major and do not overlap.
template <class T>
void subtract_from_rows(Stream stream, std::type_identity_t<View<const T>> a, std::type_identity_t<View<const T>> x,
                        View<T> y);

}  // namespace basalt::cuda_kernels
