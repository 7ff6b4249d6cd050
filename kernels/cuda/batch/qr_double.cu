#include "kernels/cuda/batch/qr_launch.cuh"

namespace basalt::on_stream {

template <>
const BatchGeqrf<double>::Gpu Code<BatchGeqrf<double>>::gpu = gpu_code<BatchGeqrf<double>>;
template <>
const BatchOrgqr<double>::Gpu Code<BatchOrgqr<double>>::gpu = gpu_code<BatchOrgqr<double>>;
template <>
const BatchGels<double>::Gpu Code<BatchGels<double>>::gpu = gpu_code<BatchGels<double>>;

}  // namespace basalt::on_stream
