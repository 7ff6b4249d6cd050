#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace bench {

/// NCCL's broadcast among the first GPUs of this process, from GPU 0.
class NcclBroadcast {
  public:
    virtual ~NcclBroadcast() = default;
    /// Sends the `bytes` bytes of buffers[0] to all other buffers; returns when they have arrived.
    virtual void run(const std::vector<void*>& buffers, std::size_t bytes) = 0;
};

/// Whether this program was built with NCCL.
extern const bool has_nccl;

/// nullptr without NCCL. Throws std::runtime_error when NCCL fails.
std::unique_ptr<NcclBroadcast> make_nccl_broadcast(int gpus);

}  // namespace bench
