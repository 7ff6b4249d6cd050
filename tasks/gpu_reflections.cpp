#include "tasks/gpu_reflections.hpp"

#include "kernels/cuda/block_reflector.hpp"
#include "runtime/engine.hpp"

namespace basalt::detail {

template <class T>
GpuReflections<T>::GpuReflections(Runtime& runtime, Index rows, Index nb, Index columns) : columns(columns) {
    // on an emulated GPU the CPU's kernels have their own workspace
    const bool emulated = runtime.engine().device(0).emulated();
    const Index reflectors = aligned(rows * nb);
    const Index workspace = emulated ? line : aligned(cuda_kernels::reflect_columns_workspace(rows, nb, columns));
    addresses_ = HostBuffer(static_cast<std::size_t>(runtime.gpus() * (reflectors + workspace)) * sizeof(T),
                            HostBacking::untouched);
    T* next = static_cast<T*>(addresses_.data());
    for (int gpu = 0; gpu < runtime.gpus(); ++gpu, next += reflectors + workspace) {
        v.emplace_back(runtime, next, rows, nb, "reflectors");
        workspaces.emplace_back(runtime, next + reflectors, workspace, 1, "workspace of reflections");
    }
}

template struct GpuReflections<float>;
template struct GpuReflections<double>;

}  // namespace basalt::detail
