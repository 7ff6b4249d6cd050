#include "kernels/cuda/batch/qr_launch.cuh"

namespace basalt::on_stream {

template <>
const BatchGeqrf<float>::Gpu Code<BatchGeqrf<float>>::gpu = gpu_code<BatchGeqrf<float>>;
template <>
const BatchOrgqr<float>::Gpu Code<BatchOrgqr<float>>::gpu = gpu_code<BatchOrgqr<float>>;
template <>
const BatchGels<float>::Gpu Code<BatchGels<float>>::gpu = gpu_code<BatchGels<float>>;

}  // namespace basalt::on_stream
