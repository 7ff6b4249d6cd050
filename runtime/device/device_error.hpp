#pragma once

#include <source_location>
#include <string>
#include <string_view>

#include "basalt/error.hpp"

namespace basalt::detail {

/// What kind of failure a DeviceError reports.
struct Failure {
    bool sticky = false;
    bool out_of_memory = false;
};

/// The error "gpu 1: allocate (device.cpp:12): why". `call` is what failed, `device` is called `name`.
inline DeviceError device_error(int device, std::string_view name, std::string_view call, std::string_view why,
                                Failure failure = {}, std::source_location where = std::source_location::current()) {
    std::string_view file = where.file_name();
    file.remove_prefix(file.rfind('/') + 1);  // npos + 1 == 0
    std::string text;
    text.append(name).append(": ").append(call).append(" (").append(file).append(":");
    text.append(std::to_string(where.line())).append("): ").append(why);
    return {text, device, failure.sticky, failure.out_of_memory};
}

}  // namespace basalt::detail
