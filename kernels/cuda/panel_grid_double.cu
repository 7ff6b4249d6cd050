#include "kernels/cuda/panel_resident_launch.cuh"

template struct basalt::cuda_detail::ResidentPanel<double, basalt::cuda_detail::Grids>;
