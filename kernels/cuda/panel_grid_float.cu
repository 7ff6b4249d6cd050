#include "kernels/cuda/panel_resident_launch.cuh"

template struct basalt::cuda_detail::ResidentPanel<float, basalt::cuda_detail::Grids>;
