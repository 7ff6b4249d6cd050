#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

namespace basalt {

namespace detail {

/// The data that belong to a stream. Only kernels/cuda and runtime/device know what the pointers are.
struct StreamContext {
    void* native = nullptr;  ///< cudaStream_t
    void* blas = nullptr;    ///< cublasHandle_t on that stream, with a workspace of its own
    int device = 0;
    int multiprocessors = 0;  ///< as in DeviceInfo
    bool emulated = false;
};

}  // namespace detail

/// A queue of work on a device, into which a cuda kernel launches. An opaque handle, valid during the call that
/// receives it. The device is current during that call.
class Stream {
  public:
    Stream() = default;
    explicit Stream(const detail::StreamContext* context) : context_(context) {}

    /// The cudaStream_t, for `kernel<<<grid, block, 0, static_cast<cudaStream_t>(stream.native())>>>`.
    /// nullptr on an emulated device, which never calls a cuda kernel.
    void* native() const { return context_->native; }
    /// The runtime's number of the device, from 0.
    int device() const { return context_->device; }

    /// For kernels of the library.
    const detail::StreamContext* context() const { return context_; }

  private:
    const detail::StreamContext* context_ = nullptr;
};

/// Where a task runs: on the CPU cores, on one GPU, or where the library thinks best.
class Place {
  public:
    /// If the task has a cuda kernel, the GPU that holds most of its data; otherwise the cores.
    static constexpr Place any() { return Place(any_place); }
    static constexpr Place cpu() { return Place(cpu_place); }
    /// GPU `number`, from 0 to Runtime::gpus() - 1.
    static constexpr Place gpu(int number) { return Place(number); }

    constexpr bool is_any() const { return number_ == any_place; }
    constexpr bool is_cpu() const { return number_ == cpu_place; }
    constexpr bool is_gpu() const { return !is_any() && !is_cpu(); }
    /// Undefined unless is_gpu().
    constexpr int gpu_number() const { return number_; }

    friend constexpr bool operator==(Place, Place) = default;

  private:
    static constexpr int cpu_place = std::numeric_limits<int>::min();
    static constexpr int any_place = cpu_place + 1;
    constexpr explicit Place(int number) : number_(number) {}
    int number_;
};

/// One GPU of a Runtime.
struct DeviceInfo {
    std::string name;         ///< as errors and traces call it, "gpu 0"
    std::string model;        ///< e.g. "NVIDIA H200"
    std::size_t memory = 0;   ///< bytes that the runtime may use of it
    int multiprocessors = 0;  ///< 0 where it is emulated
    bool emulated = false;
};

/// A kernel for GPUs: called as f(stream, views...) by a thread of the runtime with the device current; the views lie
/// in the device's memory. It enqueues work on the stream and returns; it never waits.
template <class F>
struct CudaKernel {
    F function;
};

/// Marks the GPU kernel of a task: `rt.submit(options, read(x), readwrite(y), cpu_kernel, cuda(gpu_kernel))`. The CPU
/// kernel is its twin: it runs on the cores, and replaces the cuda kernel on an emulated device.
template <class F>
CudaKernel<std::decay_t<F>> cuda(F&& function) {
    return {std::forward<F>(function)};
}

}  // namespace basalt
