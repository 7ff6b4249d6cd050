#include <algorithm>
#include <cassert>

#include "kernels/cuda/common/block_thread.cuh"
#include "kernels/cuda/common/cluster_barrier.cuh"
#include "kernels/cuda/common/cluster_launch.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/panel/leading_block.hpp"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/panel.hpp"

namespace basalt::on_stream {

namespace {

using namespace cuda_detail;
using cuda_kernels::leading_height;
using cuda_kernels::leading_order;
using cuda_kernels::leading_order_step;

constexpr int threads = leading_warps * warp_lanes;
constexpr int blocks_of_cluster = 16;  // at most
static_assert(leading_order == product_depth && leading_height == Index{blocks_of_cluster} * leading_block_rows);
constexpr Index least_rows = 64;  // of a block but the last; not tuned

struct Cluster {
    __device__ void arrive() const { arrive_in_cluster(); }
    __device__ void wait() const { wait_for_cluster(); }
};

/// gridDim.x blocks, a cluster, share a strip; strips are numbered in blockIdx.y.
template <int units, class T>
__global__ void __launch_bounds__(threads, 1) leading_kernel(LeadingStrip<T> whole, int rows_a_block) {
#if __CUDA_ARCH__ >= 900  // leading_update_fits() refuses others
    extern __shared__ __align__(16) char memory[];
    wait_for_kernel_before();
    let_next_kernel_launch();  // a panel, whose blocks are few
    LeadingStrip<T> strip = whole;
    const int col = static_cast<int>(blockIdx.y) * strip_cols;
    strip.a += col;
    strip.cols = min(strip_cols, whole.cols - col);
    const int rank = static_cast<int>(blockIdx.x), begin = whole.order + rank * rows_a_block;
    Cluster cluster;
    cuda_detail::update_leading<units>(BlockThread(), cluster, *reinterpret_cast<LeadingShared<T>*>(memory), strip,
                                       begin, min(begin + rows_a_block, whole.rows), rank, static_cast<int>(gridDim.x));
#endif
}

/// With `units` times 16 rows to a warp.
template <int units, class T>
struct LeadingLaunch {
    static constexpr auto kernel = leading_kernel<units, T>;
    static_assert(leading_order_step % ProductRows<units, unit_tiles, T>::step == 0);

    /// Whether the current device can run the largest clusters of it; prepares it for that.
    static bool fits(int device) {
        LaunchAttributes attributes{};
        return has_clusters(device) && allow_clusters(kernel, sizeof(LeadingShared<T>)) &&
               most_clusters(kernel, shape_of(attributes, blocks_of_cluster, 1, nullptr)) > 0;
    }

    static void launch(Stream stream, const LeadingStrip<T>& whole, int rows_a_block) {
        in_parts(whole.cols, most_blocks_yz * strip_cols, [&](Index first, Index cols) {
            LeadingStrip<T> strip = whole;
            strip.a += first;
            strip.cols = static_cast<int>(cols);
            LaunchAttributes attributes{};
            const Grid grid = leading_grid(strip.rows - strip.order, rows_a_block, divide_up(cols, strip_cols));
            cudaLaunchConfig_t shape = shape_of(attributes, grid.x, grid.y, native(stream));
            follow_closely(attributes, shape);
            check(cudaLaunchKernelEx(&shape, kernel, strip, rows_a_block), "leading_kernel", stream);
        });
    }

  private:
    static cudaLaunchConfig_t shape_of(LaunchAttributes& attributes, Index blocks, Index strips, cudaStream_t stream) {
        return cluster_shape(attributes, static_cast<unsigned>(blocks), static_cast<unsigned>(strips), threads,
                             sizeof(LeadingShared<T>), stream);
    }
};

/// Of the calling thread's device.
template <class T>
bool device_fits(int device) {
    static AskedOnce<bool> asked;
    return asked(device, [&] { return LeadingLaunch<1, T>::fits(device) && LeadingLaunch<2, T>::fits(device); });
}

}  // namespace

template <class T>
bool run_on_gpu(LeadingUpdateFits<T>, Stream stream, View<const T> l, View<T> a) {
    return cuda_kernels::leading_shape_fits<T>(l, a) && device_fits<T>(stream.device());
}

template <class T>
void run_on_gpu(UpdateLeading<T>, Stream stream, View<const T> l, RowMoves moves, View<T> a) {
    assert(leading_update_fits<T>(stream, l, a) && a.rows() == l.rows() && moves.count == l.cols());
    if (a.cols() == 0) return;
    const LeadingStrip<T> strip{l.data(),
                                static_cast<int>(l.row_stride()),
                                a.data(),
                                static_cast<int>(a.row_stride()),
                                static_cast<int>(l.rows()),
                                static_cast<int>(l.cols()),
                                static_cast<int>(a.cols()),
                                moves};
    const Index evenly = divide_up(divide_up(l.rows() - l.cols(), blocks_of_cluster), unit_rows) * unit_rows;
    const int each = static_cast<int>(std::max(evenly, least_rows));
    if (each <= leading_block_rows / 2) {
        LeadingLaunch<1, T>::launch(stream, strip, each);
    } else {
        LeadingLaunch<2, T>::launch(stream, strip, each);
    }
}

template <>
const LeadingUpdateFits<float>::Gpu Code<LeadingUpdateFits<float>>::gpu = gpu_code<LeadingUpdateFits<float>>;
template <>
const LeadingUpdateFits<double>::Gpu Code<LeadingUpdateFits<double>>::gpu = gpu_code<LeadingUpdateFits<double>>;
template <>
const UpdateLeading<float>::Gpu Code<UpdateLeading<float>>::gpu = gpu_code<UpdateLeading<float>>;
template <>
const UpdateLeading<double>::Gpu Code<UpdateLeading<double>>::gpu = gpu_code<UpdateLeading<double>>;

}  // namespace basalt::on_stream
