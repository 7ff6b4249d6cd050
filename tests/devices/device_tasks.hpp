#pragma once

// What tests of tasks on emulated devices share.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "basalt/array.hpp"
#include "basalt/hooks.hpp"
#include "basalt/runtime.hpp"
#include "runtime/device/emulated_device.hpp"
#include "runtime/device/gpus.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "tests/common/catch.hpp"

namespace basalt_tests {

/// Runtimes with emulated devices.
struct DeviceSetting {
    int gpus = 1;
    int workers = 2;
    std::size_t gpu_memory = 0;
    basalt::Emulation emulation{};
    bool trace = false;
    std::string scheduler = "priority";
    int gpu_streams = basalt::Config{}.gpu_streams;
    std::shared_ptr<basalt::TaskHooks> hooks{};

    std::unique_ptr<basalt::Runtime> runtime() const {
        basalt::Config config;
        config.workers = workers;
        config.scheduler = scheduler;
        config.bind = false;
        config.gpu_memory = gpu_memory;
        config.trace = trace;
        config.gpus = 0;  // no real ones
        config.gpu_streams = gpu_streams;
        config.emulation = emulation;
        config.emulation.gpus = gpus;
        config.hooks = hooks;
        return std::make_unique<basalt::Runtime>(config);
    }
};

inline basalt::detail::EmulatedStatistics statistics(basalt::Runtime& runtime, int gpu) {
    return dynamic_cast<const basalt::detail::EmulatedDevice&>(basalt::detail::gpus_of(runtime).device(gpu))
        .statistics();
}

/// A kernel that an emulated device runs as it is; it gets the stream first. Like the library's kernels it stays on the
/// first stream of its priority.
template <class F>
auto gpu_kernel(F&& function) {
    return basalt::detail::on_any_device(std::forward<F>(function));
}
/// The same, on any stream, as users' kernels.
template <class F>
auto user_kernel(F&& function) {
    return basalt::detail::on_any_device<basalt::detail::KernelStreams::any>(std::forward<F>(function));
}

/// Adds `amount` to each element, wherever the task runs.
struct Add {
    int amount;
    void operator()(basalt::View<int> x) const {
        for (basalt::Index i = 0; i < x.size(); ++i) x[i] += amount;
    }
    void operator()(basalt::Stream, basalt::View<int> x) const { (*this)(x); }
};

/// Copies that the runtime's GPUs have begun.
inline std::uint64_t copies(basalt::Runtime& runtime) {
    std::uint64_t sum = 0;
    for (int gpu = 0; gpu < runtime.gpus(); ++gpu) {
        const auto s = statistics(runtime, gpu);
        sum += s.copies_from_host + s.copies_to_host + s.copies_to_peers;
    }
    return sum;
}

/// Tasks run on every GPU and on cores.
inline void check_usable(basalt::Runtime& runtime) {
    basalt::Array<int> x(runtime, 10);
    for (int gpu = 0; gpu < runtime.gpus(); ++gpu)
        runtime.submit({.place = basalt::Place::gpu(gpu)}, readwrite(x), Add{1}, basalt::cuda(Add{1}));
    runtime.submit({}, readwrite(x), Add{1});
    runtime.wait();
    CHECK(x.host_view()[9] == runtime.gpus() + 1);
}

}  // namespace basalt_tests
