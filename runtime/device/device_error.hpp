#pragma once

#include <source_location>
#include <string>
#include <string_view>

#include "basalt/error.hpp"

namespace basalt::detail {

/// The error "gpu 1: allocate (device.cpp:12): why". `call` is what failed, `name` is the device's.
inline DeviceError device_error(int device, std::string_view name, std::string_view call, std::string_view why,
                                DeviceFault fault = DeviceFault::call_failed,
                                std::source_location where = std::source_location::current()) {
    std::string_view file = where.file_name();
    file.remove_prefix(file.rfind('/') + 1);  // npos + 1 == 0
    std::string text;
    text.append(name).append(": ").append(call).append(" (").append(file).append(":");
    text.append(std::to_string(where.line())).append("): ").append(why);
    return {text, device, fault};
}

}  // namespace basalt::detail
