#include "bench/versus/dealt_matrix.hpp"

#include <cuda_runtime_api.h>

#include "bench/common/gpu_check.hpp"

namespace bench {

using basalt::DealtView;
using basalt::Index;

template <class T>
void copy_columns(const DealtView<T>& source, const DealtView<T>& target) {
    basalt::for_each_common_run(source.columns, target.columns, [&](Index first, Index cols) {
        const auto bytes = static_cast<std::size_t>(source.rows * cols) * sizeof(T);
        check_cuda(cudaMemcpy(target.column(first), source.column(first), bytes, cudaMemcpyDefault), "cudaMemcpy");
    });
    // copies from GPU to GPU return before they end
    synchronize_gpus(std::max(source.columns.gpus(), target.columns.gpus()));
}

template void copy_columns(const DealtView<int>&, const DealtView<int>&);
template void copy_columns(const DealtView<float>&, const DealtView<float>&);
template void copy_columns(const DealtView<double>&, const DealtView<double>&);

}  // namespace bench
