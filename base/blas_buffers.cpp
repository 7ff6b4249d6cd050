#include "base/blas_buffers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <cblas.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "basalt/error.hpp"
#include "base/process.hpp"

// OpenBLAS exports these for its own LAPACK. Weak: a library built without them has no such buffers.
extern "C" {
__attribute__((weak)) void* blas_memory_alloc(int);
__attribute__((weak)) void blas_memory_free(void*);
}

namespace basalt {

namespace {

constexpr std::size_t buffer_bytes = std::size_t{128} << 20;
// Room for what is allocated between the look and the request.
constexpr std::size_t margin_bytes = std::size_t{16} << 20;
// Of a machine with more cores not all are reserved: the table of OpenBLAS has few more entries.
constexpr int most_buffers = 64;

constinit std::mutex buffers_lock;  // guards the two below; and one request at a time looks for room
const detail::HeldDuringForks<buffers_lock> buffers_are_known;
int reserved_threads = 0;
int mapped = 0;

/// Threads of OpenBLAS's own pool. Each takes a buffer when it starts, before main() or a little later.
int pool_threads() {
    constexpr int with_threads_of_its_own = 1;
    static const int threads = openblas_get_parallel() == with_threads_of_its_own ? openblas_get_num_procs() - 1 : 0;
    return threads;
}

std::optional<std::uint64_t> address_space_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
    return limit.rlim_cur;
}

bool strict_overcommitment() {
    constexpr int never_overcommit = 2;
    int mode = 0;
    return std::ifstream("/proc/sys/vm/overcommit_memory") >> mode && mode == never_overcommit;
}

bool has_room_for(std::size_t bytes) {
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    munmap(memory, bytes);
    return true;
}

/// Makes OpenBLAS map `count` buffers. It maps another one only while all earlier ones are in use.
void map_buffers(int count) {
    std::vector<void*> held;
    for (int i = 0; i < count; ++i) held.push_back(blas_memory_alloc(0));
    for (void* const buffer : held) blas_memory_free(buffer);
}

}  // namespace

BlasBuffers::BlasBuffers(int threads) : threads_(threads) {
    const std::lock_guard guard(buffers_lock);
    const auto limit = address_space_limit();
    const int wanted = std::min(reserved_threads + threads + pool_threads(), most_buffers);
    if (blas_memory_alloc != nullptr && (limit || strict_overcommitment()) && wanted > mapped) {
        // Its pool may have its buffers already or take some of those mapped here, and so may threads that compute now.
        const int most_in_use = pool_threads() + reserved_threads;
        const auto needed =
            static_cast<std::size_t>(wanted) - static_cast<std::size_t>(mapped) + static_cast<std::size_t>(most_in_use);
        if (!has_room_for(needed * buffer_bytes + margin_bytes)) {
            throw Error("no room for the buffers of OpenBLAS: " + std::to_string(needed) + " of " +
                        std::to_string(buffer_bytes >> 20) + " MiB, with " + std::to_string(threads) +
                        " threads that compute and " + std::to_string(pool_threads()) + " of its own; " +
                        (limit ? "RLIMIT_AS allows " + std::to_string(*limit >> 20) + " MiB of address space in all"
                               : "the system grants no more memory than it has (vm.overcommit_memory = 2)"));
        }
        map_buffers(wanted);
        mapped = wanted;
    }
    reserved_threads += threads;
}

BlasBuffers::~BlasBuffers() {
    const std::lock_guard guard(buffers_lock);
    reserved_threads -= threads_;
}

}  // namespace basalt
