#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>

#include "runtime/device/emulated_device.hpp"
#include "tests/devices/device_machine.hpp"

namespace basalt_tests {

inline Machine emulated_machine(const basalt::Emulation& emulation,
                                const basalt::TuningTables& tables = basalt::TuningTables::built_in()) {
    return {basalt::detail::make_emulated_devices(emulation, tables),
            [](basalt::Stream, void* memory, int value, std::size_t bytes) { std::memset(memory, value, bytes); },
            [](basalt::Stream, const std::atomic<bool>* open) { open->wait(false); }};
}

inline basalt::detail::EmulatedStatistics statistics(const Device& device) {
    return dynamic_cast<const basalt::detail::EmulatedDevice&>(device).statistics();
}

}  // namespace basalt_tests
