#pragma once

#include <type_traits>

#include <basalt/device.hpp>
#include <basalt/view.hpp>

/// Products whose inner dimension is much longer than their results are wide.
namespace basalt::cuda_detail {

/// Results of fewer elements for each multiprocessor are too few for a product to fill the GPU with.
inline constexpr Index block_elements = 64 * 64;

/// Elements of workspace that tall_product() needs for results of at most a x b on a GPU with this number of
/// multiprocessors.
Index tall_product_workspace(Index a, Index b, int multiprocessors);

/// C = X^T Y for row-major X (m x a), Y (m x b), C (a x b), in the device's memory: stretches of rows at once, so that
/// few columns still fill the GPU, and their sum in a fixed order, both by the GPU's multiprocessors. With m = 0 C is
/// zero. For float and double.
template <class T>
void tall_product(Stream stream, std::type_identity_t<View<const T>> x, std::type_identity_t<View<const T>> y,
                  View<T> c, T* workspace);

/// C = the sum of `count` matrices of its shape, dense and one behind the other, in order.
template <class T>
void sum_parts(Stream stream, const T* parts, Index count, View<T> c);

}  // namespace basalt::cuda_detail
