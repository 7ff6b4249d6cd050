// Kernels that pass a buffer on from device to device while it arrives.
//
// A warp waits until a chunk is there, moves it, and announces it to the warp of the same number in the next device's
// kernel. Announcing waits for the warp's writes, which takes microseconds; meanwhile the other warps use the link.
//
// Why the next hop reads what was written. Each arrow is a synchronisation or program order, hence causality: writes of
// a warp's 32 lanes -> __syncwarp -> its lane 0 writes the word, a release at the scope of the system -> lane 0 of the
// next hop's warp reads it, an acquire at that scope -> __syncwarp -> the loads of all its lanes. No other thread
// writes the word meanwhile: see CudaRelay.
#include "runtime/device/cuda_relay_kernel.hpp"

#include <cuda/atomic>

namespace basalt::detail {

namespace {

constexpr int lanes = 32;
constexpr int unrolled = 8;                            // loads of a lane that are on their way before its first store
constexpr long long patience_cycles = 40'000'000'000;  // of a clock of 2 GHz

using Word = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_system>;

/// Waits until more than i chunks are there; returns their number.
__device__ std::uint32_t await(const std::uint32_t& announced, std::uint32_t base, std::uint32_t i) {
    const Word word(const_cast<std::uint32_t&>(announced));
    const long long begin = clock64();
    while (true) {
        const std::uint32_t arrived = word.load(cuda::memory_order_acquire) - base;
        // what earlier relays left looks negative, what later ones say is large
        if (static_cast<std::int32_t>(arrived - i) > 0) return arrived;
        if (clock64() - begin > patience_cycles) __trap();
    }
}

/// By one warp. Loads do not look into the first level cache, which has nothing to give.
__device__ void copy(char* to, const char* from, int bytes, int lane) {
    const auto* from_words = reinterpret_cast<const uint4*>(from);
    auto* to_words = reinterpret_cast<uint4*>(to);
    const int words = bytes / static_cast<int>(sizeof(uint4));
    int i = lane;
    for (; i + (unrolled - 1) * lanes < words; i += unrolled * lanes) {
        uint4 held[unrolled];
#pragma unroll
        for (int u = 0; u < unrolled; ++u) held[u] = __ldcg(from_words + i + u * lanes);
#pragma unroll
        for (int u = 0; u < unrolled; ++u) to_words[i + u * lanes] = held[u];
    }
    for (; i < words; i += lanes) to_words[i] = __ldcg(from_words + i);
    const int rest = words * static_cast<int>(sizeof(uint4)) + lane;
    if (rest < bytes) to[rest] = __ldcg(from + rest);
}

__global__ __launch_bounds__(RelayShape::most_warps* lanes) void relay(const RelayHop hop, const RelayShape shape) {
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const unsigned warp = threadIdx.x / lanes;
    const std::size_t channel = blockIdx.x * static_cast<std::size_t>(shape.warps) + warp;
    const unsigned word = blockIdx.x * RelayShape::block_words + warp;
    const std::uint32_t chunks = shape.chunks_of(channel, hop.bytes);
    std::uint32_t arrived = 0;
    for (std::uint32_t i = 0; i < chunks; ++i) {
        if (hop.before != nullptr) {
            if (lane == 0 && arrived <= i) arrived = await(hop.before[word], hop.before_base, i);
            __syncwarp();
        }
        const std::size_t begin = shape.begin_of(channel, i);
        const std::size_t left = hop.bytes - begin;
        copy(static_cast<char*>(hop.to) + begin, static_cast<const char*>(hop.from) + begin,
             static_cast<int>(left < shape.chunk_bytes ? left : shape.chunk_bytes), lane);
        if (hop.after != nullptr) {
            __syncwarp();
            if (lane == 0) Word(hop.after[word]).store(hop.after_base + i + 1, cuda::memory_order_release);
        }
    }
}

}  // namespace

cudaError_t enqueue_relay(const RelayHop& hop, const RelayShape& shape, cudaStream_t stream) {
    relay<<<static_cast<unsigned>(shape.blocks), static_cast<unsigned>(shape.warps * lanes), 0, stream>>>(hop, shape);
    return cudaGetLastError();
}

}  // namespace basalt::detail
