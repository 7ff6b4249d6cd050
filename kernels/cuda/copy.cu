#include "kernels/cuda/copy.hpp"

#include <algorithm>
#include <cassert>

#include "kernels/cuda/launch.cuh"

namespace basalt::cuda_kernels {

template <class T>
void copy_elements(Stream stream, std::type_identity_t<View<const T>> source, View<T> target) {
    assert(source.rows() == target.rows() && source.cols() == target.cols());
    assert(target.cols() <= 1 || (source.col_stride() == 1 && target.col_stride() == 1));
    if (target.empty()) return;
    cuda_detail::check(
        cudaMemcpy2DAsync(target.data(), sizeof(T) * static_cast<std::size_t>(target.row_stride()), source.data(),
                          sizeof(T) * static_cast<std::size_t>(source.row_stride()),
                          sizeof(T) * static_cast<std::size_t>(target.cols()),
                          static_cast<std::size_t>(target.rows()), cudaMemcpyDeviceToDevice,
                          cuda_detail::native(stream)),
        "cudaMemcpy2DAsync", stream);
}

template void copy_elements<float>(Stream, View<const float>, View<float>);
template void copy_elements<double>(Stream, View<const double>, View<double>);

}  // namespace basalt::cuda_kernels
