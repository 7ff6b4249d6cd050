#include "kernels/cuda/panel/resident_launch.cuh"

template struct basalt::cuda_detail::ResidentPanel<double, basalt::cuda_detail::Logged<basalt::cuda_detail::Clusters>>;
