#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/on_stream.hpp"
#include "runtime/device/device.hpp"

namespace basalt_tests {

/// Runs the cases of tests/kernels/cases with the kernels of a GPU, in its memory. Each call waits for its kernel and
/// throws its errors.
class CudaKernels {
    using Device = basalt::detail::Device;
    using Role = basalt::detail::StreamRole;

  public:
    explicit CudaKernels(Device& device) : device_(device) { device_.attach_thread(); }

    static constexpr bool on_gpu = true;

    int multiprocessors() const { return device_.multiprocessors(); }

    template <class T>
    class Memory {
      public:
        Memory(CudaKernels& kernels, const std::vector<T>& values)
            : kernels_(kernels),
              size_(values.size()),
              memory_(static_cast<T*>(kernels.device_.allocate(std::max<std::size_t>(size_, 1) * sizeof(T)))) {
            kernels_.copy(Role::from_host, memory_, values.data(), size_ * sizeof(T));
        }
        ~Memory() { kernels_.device_.release(memory_); }
        Memory(const Memory&) = delete;
        Memory& operator=(const Memory&) = delete;

        T* data() { return memory_; }
        std::vector<T> read() const {
            std::vector<T> values(size_);
            kernels_.copy(Role::to_host, values.data(), memory_, size_ * sizeof(T));
            return values;
        }

      private:
        CudaKernels& kernels_;
        std::size_t size_;
        T* memory_;
    };

    /// A kernel of kernels/on_stream, to its end.
    template <class Kernel, class... A>
    auto operator()(Kernel kernel, const A&... a) {
        using Result = decltype(kernel(std::declval<basalt::Stream>(), a...));
        if constexpr (std::is_void_v<Result>) {
            run([&](basalt::Stream stream) { kernel(stream, a...); });
        } else {
            Result result{};
            run([&](basalt::Stream stream) { result = kernel(stream, a...); });
            return result;
        }
    }

    /// Whether the table for this GPU wants update_leading().
    bool has_leading_update() const { return device_.tuning().lu.leading_rows > 0; }

    /// Calls kernel(stream) and waits for what it enqueued.
    template <class Kernel>
    void run(Kernel kernel) {
        device_.launch(Role::compute, kernel);
        await(Role::compute);
    }

  private:
    void copy(Role role, void* to, const void* from, std::size_t bytes) {
        if (bytes == 0) return;
        device_.copy(role, {to, from, bytes});
        await(role);
    }

    void await(Role role) {
        const auto ticket = device_.record(role, basalt::detail::Timing::untimed);
        while (!device_.reached(role, ticket)) std::this_thread::yield();
    }

    Device& device_;
};

/// The kernels of the first GPU; nullptr where there is none.
inline CudaKernels* gpu() {
    static const auto devices = basalt::detail::make_cuda_devices(1);
    static const auto kernels = devices.empty() ? nullptr : std::make_unique<CudaKernels>(*devices.front());
    return kernels.get();
}

}  // namespace basalt_tests
