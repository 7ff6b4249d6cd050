#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/cuda/convert.hpp"
#include "kernels/cuda/copy.hpp"
#include "kernels/cuda/generate.hpp"
#include "kernels/cuda/leading_update.hpp"
#include "kernels/cuda/norms.hpp"
#include "kernels/cuda/panel.hpp"
#include "kernels/cuda/row_exchange.hpp"
#include "kernels/cuda/split_product.hpp"
#include "kernels/cuda/triangle_inverse.hpp"
#include "kernels/cuda/triangle_solve.hpp"
#include "kernels/cuda/update.hpp"
#include "kernels/cuda/vector_product.hpp"
#include "runtime/device/device.hpp"

namespace basalt_tests {

/// Where the cases of kernel_cases/ run: the kernels of a GPU, in its memory. Each call waits for
/// its kernel, and throws what went wrong in it.
class CudaKernels {
    using Device = basalt::detail::Device;
    using Role = basalt::detail::StreamRole;

  public:
    explicit CudaKernels(Device& device) : device_(device) { device_.attach_thread(); }

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

    template <class T, class... A>
    void copy_elements(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::copy_elements<T>(stream, a...); });
    }
    template <class T, class... A>
    void copy_tile_columns(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::copy_tile_columns<T>(stream, a...); });
    }
    template <class T, class... A>
    void pack_tile_columns(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::pack_tile_columns<T>(stream, a...); });
    }
    template <class T, class... A>
    void unpack_tile_columns(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::unpack_tile_columns<T>(stream, a...); });
    }
    template <class T, class... A>
    void pack_columns(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::pack_columns<T>(stream, a...); });
    }
    template <class T, class... A>
    void unpack_window(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::unpack_window<T>(stream, a...); });
    }
    template <class T, class... A>
    void pack_in_place(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::pack_in_place<T>(stream, a...); });
    }
    template <class T, class... A>
    void unpack_in_place(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::unpack_in_place<T>(stream, a...); });
    }
    template <class T, class... A>
    void reorder_tiles(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::reorder_tiles<T>(stream, a...); });
    }
    template <class T, class... A>
    void generate_tile_columns(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::generate_tile_columns<T>(stream, a...); });
    }
    template <class T, class... A>
    void max_norm(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::max_norm<T>(stream, a...); });
    }
    template <class T, class... A>
    void absolute_column_sums(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::absolute_column_sums<T>(stream, a...); });
    }
    template <class T, class... A>
    void absolute_row_sums(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::absolute_row_sums<T>(stream, a...); });
    }
    template <class T, class... A>
    void square_sums(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::square_sums<T>(stream, a...); });
    }
    template <class... A>
    void find_row_moves(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::find_row_moves(stream, a...); });
    }
    template <class T, class... A>
    void exchange_rows(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::exchange_rows<T>(stream, a...); });
    }
    template <class T>
    bool leading_update_fits(basalt::View<const T> l, basalt::View<T> a) const {
        return basalt::cuda_kernels::leading_update_fits<T>(device_.index(), l, a);
    }
    /// Whether the table for this GPU wants it.
    bool has_leading_update() const { return device_.tuning().lu.leading_rows > 0; }
    template <class T, class... A>
    void update_leading(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::update_leading<T>(stream, a...); });
    }
    template <class T, class... A>
    void invert_unit_lower(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::invert_unit_lower<T>(stream, a...); });
    }
    template <class... A>
    void update_by_pieces(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::update_by_pieces(stream, a...); });
    }
    template <class T, class... A>
    void solve_by_inverse(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::solve_by_inverse<T>(stream, a...); });
    }
    template <class T, class... A>
    void solve_by_inverses(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::solve_by_inverses<T>(stream, a...); });
    }
    template <class T, class... A>
    void solve_by_substitution(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::solve_by_substitution<T>(stream, a...); });
    }
    template <class T, class V, class... A>
    void subtract_product(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::subtract_product<T, V>(stream, a...); });
    }
    template <class T, class... A>
    void solve_triangle(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::solve_triangle<T>(stream, a...); });
    }
    template <class T, class... A>
    void subtract_from_rows(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::subtract_from_rows<T>(stream, a...); });
    }
    template <class T, class... A>
    void update_trailing(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::update_trailing<T>(stream, a...); });
    }
    template <class... A>
    void largest(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::largest(stream, a...); });
    }

    template <class T, class... A>
    void panel_factor(const A&... a) {
        run([&](basalt::Stream stream) { basalt::cuda_kernels::panel_factor<T>(stream, a...); });
    }
    template <class T>
    bool panel_fits(basalt::Index rows, basalt::cuda_kernels::PanelPlan plan) const {
        return basalt::cuda_kernels::panel_fits<T>(device_.index(), rows, plan);
    }

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
        const auto ticket = device_.record(role, false);
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
