#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device/device.hpp"
#include "runtime/graph/residency.hpp"

namespace basalt::detail {

/// Transfers that did not bring their contents. Drivers note them; the program hears of them when it waits for the
/// data. Thread-safe.
class TransferFailures {
  public:
    /// Transfer number `number`, which device `device` was to make, did not bring the contents to `node`.
    void note(Residency& residency, Node node, std::uint64_t number, int device);
    /// The residency is about to end.
    void forget(const Residency& residency);
    bool any() const;
    /// Throws DeviceError where the last transfer to the host's memory is known to have failed. `devices`: the
    /// runtime's.
    void check_home(const Residency& residency, const std::vector<std::unique_ptr<Device>>& devices) const;
    /// Nothing is in flight: the replicas that the transfers were to fill, and those filled from them, are no longer
    /// taken for valid. Forgets all failures. `lost` is called with each residency whose contents are nowhere valid.
    void distrust_all(const std::function<void(Residency&)>& lost);

  private:
    struct Failure {
        Residency* residency;
        Node node;
        std::uint64_t number;
        int device;
    };
    mutable std::mutex lock_;  // guards failures_
    std::vector<Failure> failures_;
};

}  // namespace basalt::detail
