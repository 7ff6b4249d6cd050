#include "tuner/limits.hpp"

#include <algorithm>

namespace basalt::tuner {

std::optional<GpuLimits> limits_of(const std::string& architecture) {
    constexpr std::size_t KiB = 1024;
    GpuLimits limits{.architecture = architecture};
    if (architecture == "sm_90" || architecture == "sm_100") {
        limits.shared_a_block = 227 * KiB, limits.shared_a_multiprocessor = 228 * KiB;
    } else if (architecture == "sm_80") {
        limits.shared_a_block = 163 * KiB, limits.shared_a_multiprocessor = 164 * KiB;
    } else if (architecture == "sm_86" || architecture == "sm_89" || architecture == "sm_120") {
        limits.threads_a_multiprocessor = 1536;
        limits.blocks_a_multiprocessor = architecture == "sm_86" ? 16 : 24;
        limits.shared_a_block = 99 * KiB, limits.shared_a_multiprocessor = 100 * KiB;
    } else {
        return std::nullopt;
    }
    return limits;
}

int resident_blocks(const GpuLimits& limits, int threads, int registers, std::size_t shared) {
    if (threads > limits.threads_a_block || registers > limits.registers_a_thread) return 0;
    if (shared > limits.shared_a_block) return 0;
    constexpr int registers_at_once = 256;  // what a warp is given is a multiple
    const int of_warp = (registers * 32 + registers_at_once - 1) / registers_at_once * registers_at_once;
    const int warps = (threads + 31) / 32;
    const auto by_shared = static_cast<int>(limits.shared_a_multiprocessor / (shared + limits.shared_reserved));
    return std::min({limits.blocks_a_multiprocessor, limits.threads_a_multiprocessor / (32 * warps),
                     registers > 0 ? limits.registers / (of_warp * warps) : limits.blocks_a_multiprocessor, by_shared});
}

}  // namespace basalt::tuner
