#include "tests/devices/parts_kernel.hpp"

#include <cuda_runtime_api.h>

namespace basalt_tests {

namespace {

using Word = PartsWork::Word;

template <class F>
__device__ void for_each(const PartsWork::Elements& view, const F& visit) {
    for (basalt::Index j = 0; j < view.cols; ++j) {
        for (basalt::Index i = 0; i < view.rows; ++i) visit(view.data[i * view.row_stride + j * view.col_stride]);
    }
}

/// The same as PartsProgram::submit() does on cores.
__global__ void parts_kernel(const PartsWork work) {
    Word sum = work.salt;
    const PartsWork::Elements* view = work.views;
    for (int k = 0; k < work.reads; ++k) for_each(*view++, [&](Word x) { sum = 31 * sum + x; });
    for (int k = 0; k < work.changes; ++k) for_each(*view++, [&](Word& x) { sum = x = 17 * x + sum; });
    for (int k = 0; k < work.writes; ++k) for_each(*view++, [&](Word& x) { x = sum = 5 * sum + 1; });
}

}  // namespace

void launch_parts_work(basalt::Stream stream, const PartsWork& work) {
    parts_kernel<<<1, 1, 0, static_cast<cudaStream_t>(stream.native())>>>(work);
}

}  // namespace basalt_tests
