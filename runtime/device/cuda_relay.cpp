#include "runtime/device/cuda_relay.hpp"

#include <cassert>

#include "runtime/device/cuda_check.hpp"

namespace basalt::detail {

namespace {

/// What all words hold at first: they wrap round in the first relay of each process, so that they may later on. Its
/// bytes are all the same.
constexpr std::uint32_t first_base = 0xFFFFFFFF;

}  // namespace

CudaRelay::CudaRelay(const GpuTuning::Links::Relay& tuning, int device, int devices)
    : shape_{tuning.blocks, tuning.warps, (tuning.chunk_bytes + 15) / 16 * 16},
      device_(device),
      told_(static_cast<std::size_t>(devices), first_base) {
    const std::size_t bytes = told_.size() * shape_.words() * sizeof(std::uint32_t);
    if (bytes == 0) return;
    check_cuda(cudaMalloc(reinterpret_cast<void**>(&words_), bytes), "cudaMalloc of the words of relays");
    check_cuda(cudaMemset(words_, first_base & 0xFF, bytes), "cudaMemset of the words of relays");
    check_cuda(cudaDeviceSynchronize(), "cudaMemset of the words of relays");
}

CudaRelay::~CudaRelay() {
    if (words_ != nullptr) try_cuda(cudaFree(words_), "cudaFree");
}

std::optional<RelayMark> CudaRelay::enqueue(const Copy& copy, const std::optional<RelayMark>& before, CudaRelay* next,
                                            cudaStream_t stream) {
    assert(copy.rows == 1 && fit_for_relays(copy) && shape_.blocks > 0);
    RelayHop hop{copy.from, copy.to, copy.row_bytes, nullptr, 0, nullptr, 0};
    if (before) {
        hop.before = told_by(before->device);
        hop.before_base = static_cast<std::uint32_t>(before->base);
    }
    std::optional<RelayMark> mark;
    if (next != nullptr) {
        std::uint32_t& told = told_[static_cast<std::size_t>(next->device_)];
        mark = RelayMark{device_, told};
        hop.after = next->told_by(device_);
        hop.after_base = told;
        told += shape_.chunks_of(0, copy.row_bytes);
    }
    check_cuda(enqueue_relay(hop, shape_, stream), "launch of a relay's kernel");
    return mark;
}

}  // namespace basalt::detail
