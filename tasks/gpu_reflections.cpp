#include "tasks/gpu_reflections.hpp"

#include "kernels/cuda/block_reflector.hpp"
#include "tasks/column_groups.hpp"

namespace basalt::detail {

namespace {

/// Elements on a GPU.
template <class T>
struct Sizes {
    Sizes(Runtime& runtime, Index rows, Index nb, Index columns) : reflectors(aligned(rows * nb)) {
        const int processors = most_multiprocessors(runtime);
        // on an emulated GPU the CPU's kernels have their own workspace
        if (processors > 0) workspace = aligned(cuda_kernels::reflect_columns_workspace(rows, nb, columns, processors));
    }
    const Index reflectors;
    Index workspace = line;

    Index sum() const { return reflectors + workspace; }
};

}  // namespace

template <class T>
std::size_t GpuReflections<T>::bytes(Runtime& runtime, Index rows, Index nb, Index columns) {
    return static_cast<std::size_t>(Sizes<T>(runtime, rows, nb, columns).sum()) * sizeof(T);
}

template <class T>
GpuReflections<T>::GpuReflections(Runtime& runtime, Index rows, Index nb, Index columns) : columns(columns) {
    const Sizes<T> sizes(runtime, rows, nb, columns);
    addresses_ = HostBuffer(static_cast<std::size_t>(runtime.gpus() * sizes.sum()) * sizeof(T), HostBacking::untouched);
    T* next = static_cast<T*>(addresses_.data());
    for (int gpu = 0; gpu < runtime.gpus(); ++gpu, next += sizes.sum()) {
        v.emplace_back(runtime, next, rows, nb, "reflectors");
        workspaces.emplace_back(runtime, next + sizes.reflectors, sizes.workspace, 1, "workspace of reflections");
    }
}

template struct GpuReflections<float>;
template struct GpuReflections<double>;

}  // namespace basalt::detail
