#pragma once

#include <basalt/device.hpp>

namespace basalt::detail {

/// Calls a kernel in a stream.
struct InStream {
    Stream stream;
    template <class Kernel, class... Argument>
    void operator()(Kernel kernel, const Argument&... argument) const {
        kernel(stream, argument...);
    }
};

/// Calls a kernel's CPU twin.
struct OnCore {
    template <class Kernel, class... Argument>
    void operator()(Kernel kernel, const Argument&... argument) const {
        kernel.on_cpu(argument...);
    }
};

}  // namespace basalt::detail
