#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

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

/// Makes the calls of one kind that may fail; returns how many errors came out, of calls and of reached().
struct Attempt {
    int errors = 0;
    std::vector<std::string> texts;

    template <class Call>
    void operator()(Call&& call) {
        try {
            call();
        } catch (const basalt::DeviceError& error) {
            ++errors;
            texts.emplace_back(error.what());
        }
    }
};

}  // namespace basalt_tests
