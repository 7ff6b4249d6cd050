#include "kernels/cuda/batch/lu_launch.cuh"

namespace basalt::on_stream {

template <>
const BatchGetrf<float>::Gpu Code<BatchGetrf<float>>::gpu = gpu_code<BatchGetrf<float>>;
template <>
const BatchGetrs<float>::Gpu Code<BatchGetrs<float>>::gpu = gpu_code<BatchGetrs<float>>;
template <>
const BatchGesv<float>::Gpu Code<BatchGesv<float>>::gpu = gpu_code<BatchGesv<float>>;
template <>
const BatchGetri<float>::Gpu Code<BatchGetri<float>>::gpu = gpu_code<BatchGetri<float>>;

}  // namespace basalt::on_stream
