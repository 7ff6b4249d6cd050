// Kernels that pass a buffer on from GPU to GPU while it arrives.
#include "bench/broadcast_relay.hpp"

namespace bench {

namespace {

constexpr long long patience_ns = 2'000'000'000;

__device__ std::uint32_t load_acquire(const std::uint32_t* word) {
    std::uint32_t value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}
__device__ void store_release(std::uint32_t* word, std::uint32_t value) {
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
__device__ long long nanoseconds() {
    long long time;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
    return time;
}

/// Words grow, and wrap after 2^32 pieces.
__device__ bool announced(const std::uint32_t* word, std::uint32_t value) {
    return static_cast<std::int32_t>(load_acquire(word) - value) >= 0;
}

__device__ void await(const std::uint32_t* word, std::uint32_t value) {
    const long long begin = nanoseconds();
    while (!announced(word, value)) {
        if (nanoseconds() - begin > patience_ns) asm volatile("trap;");
    }
}

struct Piece {
    std::size_t begin;
    std::size_t bytes;
};

__device__ Piece piece_of(const RelayHop& hop, std::uint32_t number) {
    const std::size_t begin = (static_cast<std::size_t>(number) * gridDim.x + blockIdx.x) * hop.piece;
    if (begin >= hop.bytes) return {hop.bytes, 0};
    const std::size_t left = hop.bytes - begin;
    return {begin, left < hop.piece ? left : hop.piece};
}

constexpr int threads = 512;
constexpr int unrolled = 4;

__device__ void copy_words(uint4* to, const uint4* from, int count) {
    int i = static_cast<int>(threadIdx.x);
    for (; i + (unrolled - 1) * threads < count; i += unrolled * threads) {
        uint4 words[unrolled];
#pragma unroll
        for (int u = 0; u < unrolled; ++u) words[u] = __ldcg(from + i + u * threads);  // written while the kernel runs
#pragma unroll
        for (int u = 0; u < unrolled; ++u) to[i + u * threads] = words[u];
    }
    for (; i < count; i += threads) to[i] = __ldcg(from + i);
}

__global__ __launch_bounds__(threads) void relay(const RelayHop hop) {
    for (std::uint32_t number = 0;; ++number) {
        const Piece piece = piece_of(hop, number);
        if (piece.bytes == 0) return;
        if (hop.before != nullptr) {
            if (threadIdx.x == 0) await(hop.before + blockIdx.x, hop.base + number + 1);
            __syncthreads();
        }
        copy_words(reinterpret_cast<uint4*>(static_cast<char*>(hop.to) + piece.begin),
                   reinterpret_cast<const uint4*>(static_cast<const char*>(hop.from) + piece.begin),
                   static_cast<int>(piece.bytes / sizeof(uint4)));
        if (hop.after != nullptr) {
            __syncthreads();
            if (threadIdx.x == 0) store_release(hop.after + blockIdx.x, hop.base + number + 1);
        }
    }
}

// Bulk copies: one thread a block moves pieces through stages in shared memory, several loads ahead of the stores.
constexpr int stages = 6;
constexpr int loads_ahead = 3;
constexpr unsigned stage_bytes = 16384;
constexpr std::size_t bulk_shared_bytes = stages * stage_bytes + stages * sizeof(std::uint64_t);

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

__device__ std::uint32_t shared_address(const void* pointer) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}
__device__ void load_stage(char* stage, const char* from, unsigned bytes, std::uint64_t* full) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(full)), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(stage)),
                 "l"(from), "r"(bytes), "r"(shared_address(full))
                 : "memory");
}
__device__ void await_stage(std::uint64_t* full, unsigned parity) {
    std::uint32_t done = 0;
    while (done == 0) {
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(done)
            : "r"(shared_address(full)), "r"(parity)
            : "memory");
    }
}
__device__ void store_stage(char* to, const char* stage, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(stage)),
                 "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// The stages' use so far, in loads and stores: both go round the stages.
struct Progress {
    unsigned loaded = 0;
    unsigned stored = 0;
};

__device__ void copy_bulk(const RelayHop& hop, const Piece& piece, char* memory, std::uint64_t* full,
                          Progress& progress) {
    const char* from = static_cast<const char*>(hop.from) + piece.begin;
    char* to = static_cast<char*>(hop.to) + piece.begin;
    const auto count = static_cast<unsigned>((piece.bytes + stage_bytes - 1) / stage_bytes);
    const auto bytes_of = [&](unsigned i) {
        const std::size_t left = piece.bytes - static_cast<std::size_t>(i) * stage_bytes;
        return left < stage_bytes ? static_cast<unsigned>(left) : stage_bytes;
    };
    const auto load = [&](unsigned i) {
        // the store that last used the stage lies at least stages - loads_ahead stores back
        asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(stages - loads_ahead - 1) : "memory");
        const unsigned stage = progress.loaded++ % stages;
        load_stage(memory + stage * stage_bytes, from + static_cast<std::size_t>(i) * stage_bytes, bytes_of(i),
                   full + stage);
    };
    for (unsigned i = 0; i < loads_ahead && i < count; ++i) load(i);
    for (unsigned i = 0; i < count; ++i) {
        const unsigned stage = progress.stored % stages;
        await_stage(full + stage, progress.stored / stages % 2);
        ++progress.stored;
        store_stage(to + static_cast<std::size_t>(i) * stage_bytes, memory + stage * stage_bytes, bytes_of(i));
        if (i + loads_ahead < count) load(i + loads_ahead);
    }
}

__global__ __launch_bounds__(32) void relay_bulk(const RelayHop hop) {
    extern __shared__ __align__(128) char memory[];
    auto* full = reinterpret_cast<std::uint64_t*>(memory + stages * stage_bytes);
    if (threadIdx.x != 0) return;
    for (int stage = 0; stage < stages; ++stage) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(full + stage)) : "memory");
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    Progress progress;
    for (std::uint32_t number = 0;; ++number) {
        const Piece piece = piece_of(hop, number);
        if (piece.bytes == 0) break;
        if (hop.before != nullptr) {
            await(hop.before + blockIdx.x, hop.base + number + 1);
            asm volatile("fence.proxy.async;" ::: "memory");  // bulk loads see what the acquiring one does
        }
        copy_bulk(hop, piece, memory, full, progress);
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        if (hop.after != nullptr) {
            asm volatile("fence.proxy.async;" ::: "memory");
            store_release(hop.after + blockIdx.x, hop.base + number + 1);
        }
    }
}

#else

__global__ void relay_bulk(const RelayHop) {
    asm volatile("trap;");
}

#endif

}  // namespace

cudaError_t launch_relay(const RelayHop& hop, bool bulk, int blocks, cudaStream_t stream) {
    if (!bulk) {
        relay<<<blocks, threads, 0, stream>>>(hop);
        return cudaGetLastError();
    }
    const cudaError_t status = cudaFuncSetAttribute(relay_bulk, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                    static_cast<int>(bulk_shared_bytes));
    if (status != cudaSuccess) return status;
    relay_bulk<<<blocks, 32, bulk_shared_bytes, stream>>>(hop);
    return cudaGetLastError();
}

}  // namespace bench
