#include "kernels/cuda/panel/resident_launch.cuh"

template struct basalt::cuda_detail::ResidentPanel<float, basalt::cuda_detail::Clusters>;
