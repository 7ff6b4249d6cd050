#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "basalt/access.hpp"
#include "basalt/device.hpp"
#include "basalt/team.hpp"

namespace basalt {

/// The data of a task submitted with an AccessList: for each access, in the order of the list, the address of the first
/// element of its array or tile column where the task runs (nullptr for an empty region).
using Addresses = std::vector<void*>;

namespace detail {

/// The type-erased kernels of a task: how to move them into the task, run them and destroy them.
struct KernelOps {
    std::size_t size;
    std::size_t align;
    /// Moves the closures from `source` to `storage`; bases[i] is the address of access i's datum where the task runs.
    void (*construct)(void* storage, void* source, void* const* bases);
    /// Runs the CPU kernel; nullptr when there is none.
    void (*run)(void* storage, const Team& team);
    /// Runs the cuda kernel, or its CPU twin on an emulated device's stream; nullptr when there is no cuda kernel.
    void (*run_on_device)(void* storage, Stream stream);
    void (*destroy)(void* storage) noexcept;  ///< nullptr when there is nothing to destroy
    bool emulates;                            ///< the task can run on emulated devices too
    bool binds_views;                         ///< the kernel learns its data's addresses through `bases`
};

/// Stands for the kernel that a task does not have.
struct NoKernel {};

/// A device kernel of the library that handles streams of emulated devices itself.
template <class F>
struct AnyDeviceKernel {
    F function;
    template <class... Argument>
    requires std::is_invocable_v<F&, Stream, Argument...>
    void operator()(Stream stream, const Argument&... argument) { function(stream, argument...); }
};
template <class G>
struct RunsAnywhere : std::false_type {};
template <class F>
struct RunsAnywhere<AnyDeviceKernel<F>> : std::true_type {};

template <class F>
CudaKernel<AnyDeviceKernel<std::decay_t<F>>> on_any_device(F&& function) {
    return {{std::forward<F>(function)}};
}

/// Calls a CPU kernel with the parameters that it accepts: with or without a Team first, with all arguments or none.
template <class F, class... Argument>
void call_cpu_kernel(F& function, const Team& team, const Argument&... argument) {
    if constexpr (std::is_invocable_v<F&, const Team&, Argument...>) {
        function(team, argument...);
    } else if constexpr (std::is_invocable_v<F&, Argument...>) {
        function(argument...);
    } else if constexpr (std::is_invocable_v<F&, const Team&>) {
        function(team);
    } else {
        function();
    }
}
template <class G, class... Argument>
void call_cuda_kernel(G& function, Stream stream, const Argument&... argument) {
    if constexpr (std::is_invocable_v<G&, Stream, Argument...>) {
        function(stream, argument...);
    } else {
        function(stream);
    }
}

template <class F, class... Argument>
inline constexpr bool is_cpu_kernel = std::is_same_v<F, NoKernel> || std::is_invocable_v<F&, Argument...> ||
                                      std::is_invocable_v<F&, const Team&, Argument...> || std::is_invocable_v<F&> ||
                                      std::is_invocable_v<F&, const Team&>;
template <class G, class... Argument>
inline constexpr bool is_cuda_kernel =
    std::is_same_v<G, NoKernel> || std::is_invocable_v<G&, Stream, Argument...> || std::is_invocable_v<G&, Stream>;
template <class F, class G, class... Argument>
inline constexpr bool takes_arguments =
    std::is_invocable_v<F&, Argument...> || std::is_invocable_v<F&, const Team&, Argument...> ||
    std::is_invocable_v<G&, Stream, Argument...>;

/// A task's kernels and the arguments they get. Stored in the task.
template <class F, class G, class... Argument>
struct BoundKernel {
    [[no_unique_address]] F cpu;
    [[no_unique_address]] G gpu;
    std::tuple<Argument...> arguments;

    static void run(void* storage, const Team& team) {
        auto& kernel = *std::launder(static_cast<BoundKernel*>(storage));
        std::apply([&](const Argument&... argument) { call_cpu_kernel(kernel.cpu, team, argument...); },
                   kernel.arguments);
    }
    static void run_on_device(void* storage, Stream stream) {
        auto& kernel = *std::launder(static_cast<BoundKernel*>(storage));
        std::apply(
            [&](const Argument&... argument) {
                if constexpr (!std::is_same_v<F, NoKernel> && !RunsAnywhere<G>::value) {
                    if (stream.context()->emulated) {
                        TeamBarrier alone(1);
                        return call_cpu_kernel(kernel.cpu, Team(0, alone), argument...);
                    }
                }
                call_cuda_kernel(kernel.gpu, stream, argument...);
            },
            kernel.arguments);
    }
    static void destroy(void* storage) noexcept { std::launder(static_cast<BoundKernel*>(storage))->~BoundKernel(); }

    static constexpr KernelOps ops(void (*construct)(void*, void*, void* const*), bool binds_views) {
        KernelOps result{sizeof(BoundKernel), alignof(BoundKernel), construct, nullptr, nullptr, nullptr, false,
                         binds_views};
        result.emulates = !std::is_same_v<F, NoKernel> || RunsAnywhere<G>::value;
        if constexpr (!std::is_same_v<F, NoKernel>) result.run = &run;
        if constexpr (!std::is_same_v<G, NoKernel>) result.run_on_device = &run_on_device;
        if constexpr (!std::is_trivially_destructible_v<BoundKernel>) result.destroy = &destroy;
        return result;
    }
};

/// Kernels that take no data.
template <class F, class G>
struct PlainOps {
    struct Source {
        F cpu;
        G gpu;
    };
    using Kernel = BoundKernel<F, G>;
    static void construct(void* storage, void* source, void* const*) {
        auto& from = *static_cast<Source*>(source);
        ::new (storage) Kernel{std::move(from.cpu), std::move(from.gpu), {}};
    }
    static constexpr KernelOps ops = Kernel::ops(construct, false);
};

/// Kernels that take a view for each access.
template <class F, class G, class... Element>
struct ViewOps {
    struct Source {
        F cpu;
        G gpu;
        std::tuple<Access<Element>...> accesses;
    };
    using Kernel = BoundKernel<F, G, View<Element>...>;
    template <std::size_t... I>
    static void bind(void* storage, Source& source, void* const* bases, std::index_sequence<I...>) {
        ::new (storage)
            Kernel{std::move(source.cpu), std::move(source.gpu), {std::get<I>(source.accesses).view(bases[I])...}};
    }
    static void construct(void* storage, void* source, void* const* bases) {
        bind(storage, *static_cast<Source*>(source), bases, std::index_sequence_for<Element...>{});
    }
    static constexpr KernelOps ops = Kernel::ops(construct, true);
};

/// Kernels that take the addresses of a list's data.
template <class F, class G>
struct ListOps {
    struct Source {
        F cpu;
        G gpu;
        std::size_t count;
    };
    using Kernel = BoundKernel<F, G, Addresses>;
    static void construct(void* storage, void* source, void* const* bases) {
        auto& from = *static_cast<Source*>(source);
        ::new (storage) Kernel{std::move(from.cpu), std::move(from.gpu), {Addresses(bases, bases + from.count)}};
    }
    static constexpr KernelOps ops = Kernel::ops(construct, true);
};

template <class T>
struct IsAccess : std::false_type {};
template <class T>
struct IsAccess<Access<T>> : std::true_type {};
template <class T>
struct IsCudaKernel : std::false_type {};
template <class F>
struct IsCudaKernel<CudaKernel<F>> : std::true_type {};

}  // namespace detail

}  // namespace basalt
