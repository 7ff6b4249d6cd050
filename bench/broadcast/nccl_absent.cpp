// Replaces nccl.cpp in builds without NCCL.
#include "bench/broadcast/nccl.hpp"

namespace bench {

const bool has_nccl = false;

std::unique_ptr<NcclBroadcast> make_nccl_broadcast(int) { return nullptr; }

}  // namespace bench
