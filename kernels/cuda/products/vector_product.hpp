#pragma once

#include <type_traits>

#include <basalt/device.hpp>
#include <basalt/view.hpp>

namespace basalt::cuda_detail {

/// X = U^-1 X for the upper triangle U of `u` (n x n, row-major); the elements left of its diagonal are not used. For
/// few columns X. Enqueued on the stream; DeviceError where that fails. The same input gives the same bits. For float
/// and double.
template <class T>
void solve_upper(Stream stream, std::type_identity_t<View<const T>> u, View<T> x);

}  // namespace basalt::cuda_detail
