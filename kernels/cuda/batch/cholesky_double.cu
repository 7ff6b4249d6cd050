#include "kernels/cuda/batch/cholesky_launch.cuh"

namespace basalt::on_stream {

template <>
const BatchPotrf<double>::Gpu Code<BatchPotrf<double>>::gpu = gpu_code<BatchPotrf<double>>;
template <>
const BatchPotrs<double>::Gpu Code<BatchPotrs<double>>::gpu = gpu_code<BatchPotrs<double>>;
template <>
const BatchPosv<double>::Gpu Code<BatchPosv<double>>::gpu = gpu_code<BatchPosv<double>>;

}  // namespace basalt::on_stream
