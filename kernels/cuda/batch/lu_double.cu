#include "kernels/cuda/batch/lu_launch.cuh"

namespace basalt::on_stream {

template <>
const BatchGetrf<double>::Gpu Code<BatchGetrf<double>>::gpu = gpu_code<BatchGetrf<double>>;
template <>
const BatchGetrs<double>::Gpu Code<BatchGetrs<double>>::gpu = gpu_code<BatchGetrs<double>>;
template <>
const BatchGesv<double>::Gpu Code<BatchGesv<double>>::gpu = gpu_code<BatchGesv<double>>;
template <>
const BatchGetri<double>::Gpu Code<BatchGetri<double>>::gpu = gpu_code<BatchGetri<double>>;

}  // namespace basalt::on_stream
