#include "kernels/cuda/batch/cholesky_launch.cuh"

namespace basalt::on_stream {

template <>
const BatchPotrf<float>::Gpu Code<BatchPotrf<float>>::gpu = gpu_code<BatchPotrf<float>>;
template <>
const BatchPotrs<float>::Gpu Code<BatchPotrs<float>>::gpu = gpu_code<BatchPotrs<float>>;
template <>
const BatchPosv<float>::Gpu Code<BatchPosv<float>>::gpu = gpu_code<BatchPosv<float>>;

}  // namespace basalt::on_stream
