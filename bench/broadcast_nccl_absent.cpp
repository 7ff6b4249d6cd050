// In the place of broadcast_nccl.cpp where there is no NCCL.
#include "bench/broadcast_nccl.hpp"

namespace bench {

const bool has_nccl = false;

std::unique_ptr<NcclBroadcast> make_nccl_broadcast(int) { return nullptr; }

}  // namespace bench
