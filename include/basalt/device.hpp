#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "basalt/error.hpp"

namespace basalt {

struct GpuTuning;  // tuning.hpp

namespace detail {

/// Handles of libraries on one stream, made when they are first asked for.
class StreamLibraries {
  public:
    virtual void* blas() = 0;    ///< cublasHandle_t with a workspace of its own
    virtual void* solver() = 0;  ///< cusolverDnHandle_t

  protected:
    ~StreamLibraries() = default;
};

/// Hands out scratch memory for one task.
class StreamScratch {
  public:
    virtual void* take(std::size_t bytes) = 0;

  protected:
    ~StreamScratch() = default;
};

/// The data that belong to a stream. Only kernels/cuda and runtime/device know what the pointers are.
struct StreamContext {
    void* native = nullptr;  ///< cudaStream_t
    int device = 0;
    int multiprocessors = 0;  ///< as in DeviceInfo
    bool emulated = false;
    StreamLibraries* libraries = nullptr;  ///< nullptr where it is emulated
    StreamScratch* scratch = nullptr;      ///< of the task whose kernel is called; nullptr outside of tasks
    const GpuTuning* tuning = nullptr;     ///< the device's entry of the tables; nullptr where the stream is borrowed
};

}  // namespace detail

/// A queue of work on a device, into which a cuda kernel launches. An opaque handle, valid during the call that
/// receives it. The device is current during that call.
///
/// A GPU has several streams for tasks (Config::gpu_streams). Only dependencies order tasks on different streams, so
/// what a kernel shares with other tasks must be among its accesses. Handles and scratch memory below belong to one
/// stream.
///
/// Thread-safety: only the thread that calls the kernel may use the stream, its handles and scratch(). No other task is
/// given the same stream meanwhile.
class Stream {
  public:
    Stream() = default;
    explicit Stream(const detail::StreamContext* context) : context_(context) {}

    /// The cudaStream_t, for `kernel<<<grid, block, 0, static_cast<cudaStream_t>(stream.native())>>>`.
    /// nullptr on an emulated device, which never calls a cuda kernel.
    void* native() const { return context_->native; }
    /// The stream's cublasHandle_t, to be used as static_cast<cublasHandle_t>(stream.blas()). Made at the first call,
    /// which takes some milliseconds and GpuTuning::blas_workspace_bytes for its workspace, in addition to
    /// Config::gpu_memory. A kernel that changes its settings (pointer mode host, the math mode) restores them; stream
    /// and workspace stay as they are. nullptr on an emulated device. Throws DeviceError.
    void* blas() const { return context_->libraries != nullptr ? context_->libraries->blas() : nullptr; }
    /// The stream's cusolverDnHandle_t, made at the first call. cuSOLVER is loaded then: the library does not link it.
    /// nullptr on an emulated device. Throws DeviceError, which says so where there is no cuSOLVER.
    void* solver() const { return context_->libraries != nullptr ? context_->libraries->solver() : nullptr; }
    /// `bytes` bytes of the device's memory, aligned to 512 bytes, with undefined contents: until what the task
    /// enqueues on the stream has run, also after the kernel has returned. Different calls in one task return different
    /// memory. It is part of what the runtime may use of the device (Config::gpu_memory) and stays with the stream for
    /// its later tasks, until data need it that would not fit otherwise. nullptr for 0 bytes. Works on emulated
    /// devices, too.
    ///
    /// Throws DeviceError where data take up the memory: scratch memory does not displace them. A task whose scratch
    /// memory is large should name an array with write() instead, which displaces other data. Throws UsageError outside
    /// of a task.
    void* scratch(std::size_t bytes) const;
    /// The runtime's number of the device, from 0.
    int device() const { return context_->device; }

    /// For kernels of the library.
    const detail::StreamContext* context() const { return context_; }

  private:
    const detail::StreamContext* context_ = nullptr;
};

inline void* Stream::scratch(std::size_t bytes) const {
    if (context_->scratch == nullptr) throw UsageError("Stream::scratch() outside of a task's kernel");
    return context_->scratch->take(bytes);
}

/// The Stream of a cudaStream_t of the user's, outside of the runtime. Without scratch memory and handles of libraries.
/// Lives as long as the Stream that it is converted to; owns nothing. Not synchronised.
class BorrowedStream {
  public:
    /// `native`: a cudaStream_t of the device `device`, in CUDA's numbering, which is current when the stream is used.
    explicit BorrowedStream(void* native, int device = 0) {
        context_.native = native;
        context_.device = device;
    }
    BorrowedStream(const BorrowedStream&) = delete;
    BorrowedStream& operator=(const BorrowedStream&) = delete;

    operator Stream() const& { return Stream(&context_); }  // NOLINT(google-explicit-constructor): is one
    operator Stream() && = delete;                          // would outlive its context

  private:
    detail::StreamContext context_;
};

/// Where a task runs: on the CPU cores, on one GPU, or where the library thinks best.
class Place {
  public:
    /// Config::policy chooses among the places for which the task has a kernel. By default: if the task has a cuda
    /// kernel, the GPU that holds most of its data; otherwise the cores.
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
