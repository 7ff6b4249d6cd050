#include "tasks/qr/gpu_reflections.hpp"

#include <algorithm>
#include <memory>
#include <mutex>

#include "kernels/cuda/qr/workspace.hpp"
#include "tasks/on_gpus/column_groups.hpp"

namespace basalt::detail {

template <class T>
ScratchLayout GpuReflections<T>::layout(Runtime& runtime, Index rows, Index nb, Index columns,
                                        GpuReflections<T>& reflections) {
    const int processors = most_multiprocessors(runtime);
    // on an emulated GPU the kernels are the CPU's, which have their own workspace
    const Index workspace =
        processors > 0 ? aligned(std::max(cuda_kernels::reflect_columns_workspace(rows, nb, columns, processors),
                                          cuda_kernels::gram_matrix_workspace(nb, processors)))
                       : line;
    ScratchLayout all;
    const Index gpus = runtime.gpus();
    all.add(
        reflections.v,
        {.name = "reflectors", .rows = rows, .cols = nb, .count = gpus, .on_a_gpu = 1, .home = ScratchHome::addresses});
    all.add(reflections.workspaces, {.name = "workspace of reflections",
                                     .rows = workspace,
                                     .count = gpus,
                                     .on_a_gpu = 1,
                                     .home = ScratchHome::addresses});
    return all;
}

template <class T>
std::size_t GpuReflections<T>::bytes(Runtime& runtime, Index rows, Index nb, Index columns) {
    GpuReflections<T> none;
    return layout(runtime, rows, nb, columns, none).gpu_bytes();
}

template <class T>
GpuReflections<T>::GpuReflections(Runtime& runtime, Index rows, Index nb, Index columns) : columns(columns) {
    memory_ = layout(runtime, rows, nb, columns, *this).make(runtime);
}

template <class T>
ColumnGpus gpus_for_reflections(QrState<T>& qr, std::size_t more) {
    if (qr.runtime.gpus() == 0) return {};
    const Index rows = qr.grid().rows(), columns = qr.grid().shape().width;
    const std::size_t t = static_cast<std::size_t>(qr.nb * qr.nb) * sizeof(T);
    ColumnGpus gpus = gpus_to_solve_on(*qr.a, GpuReflections<T>::bytes(qr.runtime, rows, qr.nb, columns) + t + more);
    if (gpus.empty()) return {};
    std::call_once(qr.reflections_made, [&] {
        qr.reflections_on_gpus = std::make_shared<GpuReflections<T>>(qr.runtime, rows, qr.nb, columns);
    });
    return gpus;
}

template ColumnGpus gpus_for_reflections(QrState<float>&, std::size_t);
template ColumnGpus gpus_for_reflections(QrState<double>&, std::size_t);
template struct GpuReflections<float>;
template struct GpuReflections<double>;

}  // namespace basalt::detail
