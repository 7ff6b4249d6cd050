#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "runtime/device/device.hpp"

namespace bench {

/// The options of a bench that measures kernels on one device.
struct DeviceOptions {
    char precision = 'd';
    bool emulated = false;
    std::string json;
};

inline void add_device_options(const Command& app, DeviceOptions& options) {
    app.add_option("--precision", options.precision, "s or d").one_of({"s", "d"});
    app.add_flag("--emulated", options.emulated, "on an emulated GPU, by the CPU twins");
    app.add_option("--json", options.json, "append a record a line to this file; - for standard output");
}

/// A GPU or an emulated one, for which the calling thread will enqueue. Throws std::runtime_error if there is none.
inline std::unique_ptr<basalt::detail::Device> make_device(const DeviceOptions& options) {
    auto devices =
        options.emulated ? basalt::detail::make_emulated_devices({.gpus = 1}) : basalt::detail::make_cuda_devices(1);
    if (devices.empty()) throw std::runtime_error("no GPU; --emulated shows that it works");
    devices.front()->attach_thread();
    return std::move(devices.front());
}

/// Calls `run`, a generic lambda over the precision, with the device.
template <class Run>
void run_on_one_device(const DeviceOptions& options, const Run& run) {
    const auto owner = make_device(options);
    basalt::detail::Device& device = *owner;
    options.precision == 's' ? run.template operator()<float>(device) : run.template operator()<double>(device);
}

/// Enqueues `calls` calls one after the other; returns their seconds by the device's clock.
inline double time_calls(basalt::detail::Device& device, const std::function<void(basalt::Stream)>& call, int calls) {
    using basalt::detail::StreamRole;
    using basalt::detail::Timing;
    const auto start = device.record(StreamRole::compute, Timing::timed);
    for (int i = 0; i < calls; ++i) device.launch(StreamRole::compute, call);
    const auto end = device.record(StreamRole::compute, Timing::timed);
    while (!device.reached(StreamRole::compute, end)) std::this_thread::yield();
    const auto nanoseconds = device.time_of(StreamRole::compute, end) - device.time_of(StreamRole::compute, start);
    return static_cast<double>(nanoseconds) * 1e-9;
}

}  // namespace bench
