#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "basalt/access.hpp"
#include "basalt/device.hpp"
#include "basalt/team.hpp"

namespace basalt {

/// The data of a task submitted with an AccessList: for each access, in the order of the list, the address of the
/// region's first element where the task runs (nullptr for an empty region).
using Addresses = std::vector<void*>;

namespace detail {

/// The same for tasks of the library's own: the address of the first element of the whole array or tile column.
struct DatumAddresses : std::vector<void*> {
    using std::vector<void*>::vector;
};

/// The views of a range of regions, as they are stored in a task: a few of them take no memory of their own.
template <class T>
class StoredViews {
  public:
    /// `bases`: the addresses of the regions' data, which is moved on behind them.
    template <class Range>
    StoredViews(const RangeAccess<T, Range>& accesses, void* const*& bases) : count_(accesses.size()) {
        if (count_ > few) many_ = std::make_unique<View<T>[]>(count_);
        View<T>* next = many_ ? many_.get() : few_.data();
        accesses.for_each([&](const Access<T>& access) { *next++ = access.view(*bases++); });
    }
    Views<T> views() const { return {many_ ? many_.get() : few_.data(), count_}; }

  private:
    static constexpr std::size_t few = 4;
    std::size_t count_;
    std::array<View<T>, few> few_;
    std::unique_ptr<View<T>[]> many_;
};

/// What a task stores for an access, and what its kernel gets.
template <class Access>
struct ArgumentOf;
template <class T>
struct ArgumentOf<Access<T>> {
    using Stored = View<T>;
    using Passed = View<T>;
    static Stored bind(const Access<T>& access, void* const*& bases) { return access.view(*bases++); }
};
template <class T, class Range>
struct ArgumentOf<RangeAccess<T, Range>> {
    using Stored = StoredViews<T>;
    using Passed = Views<T>;
    static Stored bind(const RangeAccess<T, Range>& accesses, void* const*& bases) { return {accesses, bases}; }
};
template <class Stored>
const Stored& passed(const Stored& argument) {
    return argument;
}
template <class T>
Views<T> passed(const StoredViews<T>& argument) {
    return argument.views();
}

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
    bool any_stream;                          ///< on a GPU, on any stream of its priority; otherwise on the first one
    bool binds_views;                         ///< the kernel learns its data's addresses through `bases`
};

/// Stands for the kernel that a task does not have.
struct NoKernel {};

/// On which streams of a GPU a kernel runs. The library's algorithms tell by priorities what runs side by side; all
/// else does unless there is a dependency.
enum class KernelStreams : std::uint8_t { first, any };

/// A device kernel that handles streams of emulated devices itself: one of the library, or of a test.
template <class F, KernelStreams S>
struct AnyDeviceKernel {
    F function;
    template <class... Argument>
    requires std::is_invocable_v<F&, Stream, Argument...>
    void operator()(Stream stream, const Argument&... argument) { function(stream, argument...); }
};
template <class G>
struct RunsAnywhere : std::false_type {
    static constexpr KernelStreams streams = KernelStreams::any;
};
template <class F, KernelStreams S>
struct RunsAnywhere<AnyDeviceKernel<F, S>> : std::true_type {
    static constexpr KernelStreams streams = S;
};

template <KernelStreams S = KernelStreams::first, class F>
CudaKernel<AnyDeviceKernel<std::decay_t<F>, S>> on_any_device(F&& function) {
    return {{std::forward<F>(function)}};
}

/// Calls a CPU kernel with the parameters that it accepts: all arguments or none, after a Team only if it cannot be
/// called without one.
template <class F, class... Argument>
void call_cpu_kernel(F& function, const Team& team, const Argument&... argument) {
    if constexpr (std::is_invocable_v<F&, Argument...>) {
        function(argument...);
    } else if constexpr (std::is_invocable_v<F&, const Team&, Argument...>) {
        function(team, argument...);
    } else if constexpr (std::is_invocable_v<F&>) {
        function();
    } else {
        function(team);
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

// Disjunctions, which stop at the first that holds: a generic kernel need not compile for the others.
template <class F, class... Argument>
inline constexpr bool is_cpu_kernel = std::disjunction_v<std::is_same<F, NoKernel>, std::is_invocable<F&, Argument...>,
                                                         std::is_invocable<F&, const Team&, Argument...>,
                                                         std::is_invocable<F&>, std::is_invocable<F&, const Team&>>;
template <class G, class... Argument>
inline constexpr bool is_cuda_kernel =
    std::disjunction_v<std::is_same<G, NoKernel>, std::is_invocable<G&, Stream, Argument...>,
                       std::is_invocable<G&, Stream>>;
template <class F, class G, class... Argument>
inline constexpr bool takes_arguments =
    std::disjunction_v<std::is_invocable<F&, Argument...>, std::is_invocable<F&, const Team&, Argument...>,
                       std::is_invocable<G&, Stream, Argument...>>;

/// A task's kernels and the arguments they get. Stored in the task.
template <class F, class G, class... Argument>
struct BoundKernel {
    [[no_unique_address]] F cpu;
    [[no_unique_address]] G gpu;
    std::tuple<Argument...> arguments;

    static void run(void* storage, const Team& team) {
        auto& kernel = *std::launder(static_cast<BoundKernel*>(storage));
        std::apply([&](const Argument&... argument) { call_cpu_kernel(kernel.cpu, team, passed(argument)...); },
                   kernel.arguments);
    }
    static void run_on_device(void* storage, Stream stream) {
        auto& kernel = *std::launder(static_cast<BoundKernel*>(storage));
        std::apply(
            [&](const Argument&... argument) {
                if constexpr (!std::is_same_v<F, NoKernel> && !RunsAnywhere<G>::value) {
                    if (stream.context()->emulated) {
                        TeamBarrier alone(1);
                        return call_cpu_kernel(kernel.cpu, Team(0, alone), passed(argument)...);
                    }
                }
                call_cuda_kernel(kernel.gpu, stream, passed(argument)...);
            },
            kernel.arguments);
    }
    static void destroy(void* storage) noexcept { std::launder(static_cast<BoundKernel*>(storage))->~BoundKernel(); }

    static constexpr KernelOps ops(void (*construct)(void*, void*, void* const*), bool binds_views) {
        KernelOps result{sizeof(BoundKernel), alignof(BoundKernel), construct, nullptr, nullptr, nullptr, false, false,
                         binds_views};
        result.any_stream = RunsAnywhere<G>::streams == KernelStreams::any;
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

/// Kernels that take a view for each access, and the views of each range.
template <class F, class G, class... Accesses>
struct ViewOps {
    struct Source {
        F cpu;
        G gpu;
        std::tuple<Accesses...> accesses;
    };
    using Kernel = BoundKernel<F, G, typename ArgumentOf<Accesses>::Stored...>;
    template <std::size_t... I>
    static void bind(void* storage, Source& source, void* const* bases, std::index_sequence<I...>) {
        // in braces the accesses are bound from left to right, each with the next addresses
        ::new (storage) Kernel{std::move(source.cpu), std::move(source.gpu),
                               std::tuple<typename ArgumentOf<Accesses>::Stored...>{
                                   ArgumentOf<Accesses>::bind(std::get<I>(source.accesses), bases)...}};
    }
    static void construct(void* storage, void* source, void* const* bases) {
        bind(storage, *static_cast<Source*>(source), bases, std::index_sequence_for<Accesses...>{});
    }
    static constexpr KernelOps ops = Kernel::ops(construct, true);
};

/// Kernels that take the addresses of a list's data: `List` is Addresses or DatumAddresses.
template <class F, class G, class List>
struct ListOps {
    struct Source {
        F cpu;
        G gpu;
        const AccessList& list;
    };
    using Kernel = BoundKernel<F, G, List>;
    static void construct(void* storage, void* source, void* const* bases) {
        auto& from = *static_cast<Source*>(source);
        const std::vector<Index>& offsets = from.list.offsets();
        List addresses(bases, bases + offsets.size());
        if constexpr (std::is_same_v<List, Addresses>) {
            for (std::size_t i = 0; i < offsets.size(); ++i) {
                if (addresses[i] != nullptr) addresses[i] = static_cast<std::byte*>(addresses[i]) + offsets[i];
            }
        }
        ::new (storage) Kernel{std::move(from.cpu), std::move(from.gpu), {std::move(addresses)}};
    }
    static constexpr KernelOps ops = Kernel::ops(construct, true);
};

template <class T>
struct IsAccess : std::false_type {};
template <class T>
struct IsAccess<Access<T>> : std::true_type {};
template <class T, class Range>
struct IsAccess<RangeAccess<T, Range>> : std::true_type {};
/// The records of accesses and ranges, one behind the other: a few of them take no memory.
class RecordBuffer {
  public:
    explicit RecordBuffer(std::size_t count) : many_(count > few ? count : 0), next_(begin()) {}
    template <class T>
    void add(const Access<T>& access) {
        *next_++ = access.record;
    }
    template <class T, class Range>
    void add(const RangeAccess<T, Range>& accesses) {
        accesses.for_each([this](const Access<T>& access) { add(access); });
    }
    AccessRecord* begin() { return many_.empty() ? few_.data() : many_.data(); }

  private:
    static constexpr std::size_t few = 16;
    std::array<AccessRecord, few> few_;
    std::vector<AccessRecord> many_;
    AccessRecord* next_;
};
template <class T>
std::size_t records_of(const Access<T>&) {
    return 1;
}
template <class T, class Range>
std::size_t records_of(const RangeAccess<T, Range>& accesses) {
    return accesses.size();
}
template <class T>
inline constexpr bool is_range_access = false;
template <class T, class Range>
inline constexpr bool is_range_access<RangeAccess<T, Range>> = true;

template <class T>
struct IsCudaKernel : std::false_type {};
template <class F>
struct IsCudaKernel<CudaKernel<F>> : std::true_type {};

}  // namespace detail

}  // namespace basalt
