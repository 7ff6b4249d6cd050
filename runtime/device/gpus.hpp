#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/device/device.hpp"

namespace basalt::detail {

/// The GPUs of a runtime, emulated ones too, numbered from 0.
class Gpus {
  public:
    explicit Gpus(std::vector<std::unique_ptr<Device>> devices) : devices_(std::move(devices)) {}

    int count() const { return static_cast<int>(devices_.size()); }
    bool has(int number) const { return 0 <= number && number < count(); }
    bool has_real() const { return !devices_.empty() && !devices_.front()->emulated(); }
    bool any_lost() const {
        return std::any_of(devices_.begin(), devices_.end(), [](const auto& device) { return device->lost(); });
    }
    Device& device(int number) const { return *devices_[static_cast<std::size_t>(number)]; }
    const std::vector<std::unique_ptr<Device>>& all() const { return devices_; }

    /// What errors say of a GPU that does not exist.
    std::string no_such_gpu(int number) const {
        return "Place::gpu(" + std::to_string(number) + "); the runtime has " + std::to_string(count()) +
               (count() == 1 ? " GPU" : " GPUs");
    }

  private:
    std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace basalt::detail
