#pragma once

#include <basalt/device.hpp>
#include <basalt/error.hpp>

/// How a kernel for GPUs and its CPU twin are declared, once: see docs/contributing.md, "Add a kernel".
namespace basalt::on_stream {

/// Whether this build has the kernels for GPUs: CUDA was found when it was configured.
#ifdef BASALT_HAVE_CUDA
inline constexpr bool gpu_kernels_built = true;
#else
inline constexpr bool gpu_kernels_built = false;
#endif

/// f(), for questions that only real GPUs raise; 0 in a build without their kernels.
template <class F>
auto on_gpus_only(const F& f) {
    if constexpr (gpu_kernels_built) {
        return f();
    } else {
        return decltype(f()){};
    }
}

/// Whether the stream is an emulated device's, which runs the CPU twins.
inline bool emulated(Stream stream) { return stream.context()->emulated; }

/// The two functions that implement the kernel K. A file in kernels/cuda defines the first one, a file in kernels/cpu
/// the second (kernels/on_stream/implement.hpp).
template <class K>
struct Code {
    static const typename K::Gpu gpu;
    static const typename K::Cpu cpu;
};

/// Base of the kernel K with this signature.
template <class K, class Signature>
struct Kernel;

template <class K, class Result, class... A>
struct Kernel<K, Result(A...)> {
    using Gpu = Result (*)(Stream, A...);
    using Cpu = Result (*)(A...);

    /// Enqueues the GPU kernel, or runs the CPU twin where the stream's device is emulated. Throws DeviceError where
    /// the kernel cannot be enqueued, and where this build has none.
    Result operator()(Stream stream, A... a) const {
        if (emulated(stream)) return Code<K>::cpu(a...);
        if constexpr (gpu_kernels_built) {
            return Code<K>::gpu(stream, a...);
        } else {
            throw DeviceError("this build has no GPU kernels: CUDA was not found when it was configured",
                              stream.device());
        }
    }

    /// The CPU twin: single-threaded and reentrant.
    static Result on_cpu(A... a) { return Code<K>::cpu(a...); }
};

}  // namespace basalt::on_stream
