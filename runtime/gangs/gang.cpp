#include "runtime/gangs/gang.hpp"

#include <algorithm>

#include "base/spin_lock.hpp"

namespace basalt::detail {

namespace {

// About 5 us, less than it takes to sleep and to be woken.
constexpr int polls_before_sleep = 200;

// How often a leader that waits for more members counts those that may still come.
constexpr auto between_counts = std::chrono::milliseconds(1);

}  // namespace

/// Under the lock. release: a worker that sees a need also sees the gang's task, whose data it goes on to read after
/// join(), which takes the lock.
void GangHall::publish_need(const Gang& gang) {
    const int joined = gang.joined.load(std::memory_order_relaxed);
    const Need need = joined < gang.plan.minimum ? Need::minimum : joined < gang.wanted ? Need::more : Need::nothing;
    need_.store(need, std::memory_order_release);
}

bool GangHall::open(Gang& gang) {
    const std::lock_guard guard(lock_);
    if (assembling_ != nullptr) return false;
    assembling_ = &gang;
    publish_need(gang);
    return true;
}

std::optional<GangHall::Membership> GangHall::join(const Joiner& joiner) {
    const std::lock_guard guard(lock_);
    if (assembling_ == nullptr) return {};
    Gang& gang = *assembling_;
    if ((gang.plan.strict && joiner.in_gang) || !gang.plan.takes_from(joiner.package)) return {};
    const int rank = gang.joined.load(std::memory_order_relaxed);
    if (rank >= gang.wanted || (joiner.late && rank >= gang.plan.minimum)) return {};
    gang.joined.store(rank + 1, std::memory_order_relaxed);
    publish_need(gang);
    joined_.notify_one();
    return Membership{gang, rank};
}

int GangHall::assemble(Gang& gang, const std::function<int()>& obtainable) {
    const GangPlan& plan = gang.plan;
    const auto deadline = std::chrono::steady_clock::now() + plan.patience;
    const auto members = [&] { return gang.joined.load(std::memory_order_relaxed); };
    for (int poll = 0; poll < polls_before_sleep && members() < plan.wanted; ++poll) cpu_relax();
    std::unique_lock guard(lock_);
    joined_.wait(guard, [&] { return members() >= plan.minimum; });
    const auto is_full = [&] {
        gang.wanted = std::min(gang.wanted, std::max(plan.minimum, obtainable()));
        return members() >= gang.wanted;
    };
    while (!is_full()) {
        const auto now = std::chrono::steady_clock::now();
        if (now >= deadline) break;
        joined_.wait_until(guard, std::min(deadline, now + between_counts));
    }
    assembling_ = nullptr;
    need_.store(Need::nothing, std::memory_order_relaxed);
    return members();
}

}  // namespace basalt::detail
