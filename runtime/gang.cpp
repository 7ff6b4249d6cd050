#include "runtime/gang.hpp"

namespace basalt::detail {

bool GangHall::open(Gang& gang) {
    const std::lock_guard guard(lock_);
    if (assembling_ != nullptr) return false;
    assembling_ = &gang;
    assembling_flag_.store(true, std::memory_order_release);
    return true;
}

int GangHall::join(Gang*& gang, bool any, int package) {
    const std::lock_guard guard(lock_);
    gang = assembling_;
    if (gang == nullptr || (gang->strict && !any)) return -1;
    if (gang->package != Gang::any_package && gang->package != package) return -1;
    const auto rank = static_cast<int>(gang->joined.load(std::memory_order_relaxed));
    if (rank >= gang->wanted) return -1;
    gang->joined.store(static_cast<std::uint32_t>(rank) + 1, std::memory_order_release);
    gang->joined.notify_one();  // under the lock: the gang cannot close, and so not vanish, meanwhile
    return rank;
}

int GangHall::close(Gang& gang) {
    const std::lock_guard guard(lock_);
    assembling_ = nullptr;
    assembling_flag_.store(false, std::memory_order_release);
    return static_cast<int>(gang.joined.load(std::memory_order_acquire));
}

}  // namespace basalt::detail
