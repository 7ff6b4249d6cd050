// The GPU's side of 04_gpu_task: a kernel, and its launch on the stream that the runtime hands over.
#include <basalt/device.hpp>
#include <basalt/view.hpp>

namespace {

__global__ void axpy_kernel(basalt::Index n, double a, const double* x, double* y) {
    const basalt::Index i = basalt::Index{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

}  // namespace

void axpy_on_gpu(basalt::Stream stream, double a, basalt::View<const double> x, basalt::View<double> y) {
    constexpr int threads = 256;
    const auto blocks = static_cast<unsigned>((y.rows() + threads - 1) / threads);
    axpy_kernel<<<blocks, threads, 0, static_cast<cudaStream_t>(stream.native())>>>(y.rows(), a, x.data(), y.data());
}
