#include "runtime/memory/transfer_failures.hpp"

#include <array>
#include <cstddef>
#include <string>

#include "basalt/error.hpp"
#include "runtime/graph/datum.hpp"

namespace basalt::detail {

namespace {

/// Transfer `number` did not fill the replica, nor did any later one that came from there.
void distrust(Residency& r, Node node, std::uint64_t number) {
    constexpr std::uint64_t sound = ~std::uint64_t{0};
    std::array<std::uint64_t, max_nodes> bad_since;
    bad_since.fill(sound);
    bad_since[static_cast<std::size_t>(node)] = number;
    for (bool more = true; more;) {
        more = false;
        for (std::size_t n = 0; n < bad_since.size(); ++n) {
            const Replica& replica = r.replicas[n];
            if (bad_since[n] != sound || replica.arrived <= bad_since[static_cast<std::size_t>(replica.source)])
                continue;
            bad_since[n] = replica.arrived;
            more = true;
        }
    }
    for (std::size_t n = 0; n < bad_since.size(); ++n) {
        // a replica that was filled again since, from elsewhere, is good
        if (bad_since[n] == r.replicas[n].arrived) r.valid &= ~bit_of_node(static_cast<Node>(n));
    }
}

}  // namespace

void TransferFailures::note(Residency& residency, Node node, std::uint64_t number, int device) {
    const std::lock_guard guard(lock_);
    failures_.push_back({&residency, node, number, device});
}

void TransferFailures::forget(const Residency& residency) {
    const std::lock_guard guard(lock_);
    std::erase_if(failures_, [&](const Failure& failure) { return failure.residency == &residency; });
}

bool TransferFailures::any() const {
    const std::lock_guard guard(lock_);
    return !failures_.empty();
}

void TransferFailures::check_home(const Residency& r, const std::vector<std::unique_ptr<Device>>& devices) const {
    const std::lock_guard guard(lock_);
    const std::uint64_t last = r.replicas[host_node].arrived;
    for (const Failure& failure : failures_) {
        if (failure.residency != &r || failure.node != host_node || failure.number != last) continue;
        throw DeviceError(
            "the contents of '" + r.version->datum->name + "' did not come to the host's memory; wait() tells why",
            failure.device,
            devices[static_cast<std::size_t>(failure.device)]->lost() ? DeviceFault::device_lost
                                                                      : DeviceFault::call_failed);
    }
}

void TransferFailures::distrust_all(const std::function<void(Residency&)>& lost) {
    const std::lock_guard guard(lock_);
    for (const Failure& failure : failures_) {
        distrust(*failure.residency, failure.node, failure.number);
        if (failure.residency->valid == 0) lost(*failure.residency);
    }
    failures_.clear();
}

}  // namespace basalt::detail
