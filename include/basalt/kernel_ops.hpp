#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "basalt/access.hpp"
#include "basalt/device.hpp"
#include "basalt/kernel_arguments.hpp"
#include "basalt/reduction.hpp"
#include "basalt/team.hpp"

namespace basalt {

namespace detail {

/// Submitting a task with as many accesses takes no memory from the system, once earlier tasks have left theirs.
inline constexpr std::size_t most_accesses_without_allocation = 64;

/// The type-erased kernels of a task: how to move them into the task, run them and destroy them.
struct KernelOps {
    std::size_t size;
    std::size_t align;
    /// How many bytes behind `storage` construct() needs for arguments whose number is known only at submission;
    /// nullptr: there are none.
    std::size_t (*room_behind)(const void* source);
    /// Moves the closures from `source` to `storage`; bases[i] is the address of access i's datum where the task runs.
    void (*construct)(void* storage, void* source, void* const* bases);
    /// Runs the CPU kernel; nullptr when there is none. `arguments`: made by copy_arguments(); nullptr: its own.
    void (*run)(void* storage, void* arguments, const Team& team);
    /// Runs the cuda kernel, or its CPU twin on an emulated device's stream; nullptr when there is no cuda kernel.
    void (*run_on_device)(void* storage, void* arguments, Stream stream);
    void (*destroy)(void* storage) noexcept;  ///< nullptr when there is nothing to destroy
    // For recordings, whose kernels run again with other data. All zero when there are no arguments, and for those that
    // take part in reductions, which are not recorded.
    std::size_t arguments_size;
    /// Makes at `arguments`, aligned as by operator new, a copy of the kernel's own that leads to other data.
    void (*copy_arguments)(void* arguments, const void* storage, DataShifts shifts);
    void (*destroy_arguments)(void* arguments) noexcept;  ///< nullptr when there is nothing to destroy
    bool emulates;                                        ///< the task can run on emulated devices too
    bool any_stream;      ///< on a GPU, on any stream of its priority; otherwise on the first one
    bool binds_views;     ///< the kernel learns its data's addresses through `bases`
    bool moves_as_bytes;  ///< the closures may be copied by their bytes, if only the copy is used then
    /// What the k-th reduce access in `source` asks for; nullptr where there is none. bases[i] of such an access is the
    /// task's share in the reduction.
    ReductionSpec (*reduction)(const void* source, std::size_t k) = nullptr;

    /// What construct() needs from `storage` on, in bytes.
    std::size_t size_with_room(const void* source) const {
        return room_behind == nullptr ? size : size + room_behind(source);
    }
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
void call_cpu_kernel(F& function, const Team& team, Argument&&... argument) {
    if constexpr (std::is_invocable_v<F&, Argument&...>) {
        function(argument...);
    } else if constexpr (std::is_invocable_v<F&, const Team&, Argument&...>) {
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

/// Whether the argument is the task's share in a reduction.
template <class T>
inline constexpr bool is_share = false;
template <class T>
inline constexpr bool is_share<StoredShare<T>> = true;

/// A task's kernels and the arguments they get. Stored in the task.
template <class F, class G, class... Argument>
struct BoundKernel {
    [[no_unique_address]] F cpu;
    [[no_unique_address]] G gpu;
    std::tuple<Argument...> arguments;

    using Arguments = std::tuple<Argument...>;

    static void run(void* storage, void* arguments, const Team& team) {
        auto& kernel = *std::launder(static_cast<BoundKernel*>(storage));
        std::apply([&](const Argument&... argument) { call_cpu_kernel(kernel.cpu, team, passed(argument)...); },
                   kernel.own_or(arguments));
    }
    static void run_on_device(void* storage, void* arguments, Stream stream) {
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
            kernel.own_or(arguments));
    }
    static void destroy(void* storage) noexcept { std::launder(static_cast<BoundKernel*>(storage))->~BoundKernel(); }
    static void copy_arguments(void* arguments, const void* storage, DataShifts shifts) {
        const auto& kernel = *std::launder(static_cast<const BoundKernel*>(storage));
        auto& copy = *::new (arguments) Arguments(kernel.arguments);
        std::apply([&](Argument&... argument) { (shifts.move_next(argument), ...); }, copy);
    }
    static void destroy_arguments(void* arguments) noexcept {
        std::launder(static_cast<Arguments*>(arguments))->~Arguments();
    }
    const Arguments& own_or(void* other) const {
        return other == nullptr ? arguments : *std::launder(static_cast<const Arguments*>(other));
    }

    static constexpr KernelOps ops(void (*construct)(void*, void*, void* const*)) {
        KernelOps result{};
        result.size = sizeof(BoundKernel);
        result.align = alignof(BoundKernel);
        result.construct = construct;
        result.moves_as_bytes =
            std::is_trivially_move_constructible_v<BoundKernel> && std::is_trivially_destructible_v<BoundKernel>;
        result.any_stream = RunsAnywhere<G>::streams == KernelStreams::any;
        result.emulates = !std::is_same_v<F, NoKernel> || RunsAnywhere<G>::value;
        if constexpr (!std::is_same_v<F, NoKernel>) result.run = &run;
        if constexpr (!std::is_same_v<G, NoKernel>) result.run_on_device = &run_on_device;
        if constexpr (!std::is_trivially_destructible_v<BoundKernel>) result.destroy = &destroy;
        if constexpr (sizeof...(Argument) > 0 && !(is_share<Argument> || ...)) {
            result.arguments_size = sizeof(Arguments);
            result.copy_arguments = &copy_arguments;
            if constexpr (!std::is_trivially_destructible_v<Arguments>) result.destroy_arguments = &destroy_arguments;
        }
        return result;
    }
};

template <class T>
inline constexpr bool is_reduce_access = false;
template <class T>
inline constexpr bool is_reduce_access<ReduceAccess<T>> = true;
template <class T>
inline constexpr bool is_range_access = false;
template <class T, class Range>
inline constexpr bool is_range_access<RangeAccess<T, Range>> = true;

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
    static constexpr KernelOps ops = Kernel::ops(construct);
};

/// Kernels that take a view for each access, and the views of each range.
template <class F, class G, class... Accesses>
struct ViewOps {
    struct Source {
        F cpu;
        G gpu;
        std::tuple<const Accesses&...> accesses;  ///< the caller's
    };
    using Kernel = BoundKernel<F, G, typename ArgumentOf<Accesses>::Stored...>;
    template <std::size_t... I>
    static void bind(void* storage, Source& source, void* const* bases, std::index_sequence<I...>) {
        ArgumentSource from{bases, static_cast<std::byte*>(storage) + sizeof(Kernel)};
        // in braces the accesses are bound from left to right, each with the next addresses
        ::new (storage) Kernel{std::move(source.cpu), std::move(source.gpu),
                               std::tuple<typename ArgumentOf<Accesses>::Stored...>{
                                   ArgumentOf<Accesses>::bind(std::get<I>(source.accesses), from)...}};
    }
    static std::size_t room(const void* source) {
        return std::apply([](const auto&... access) { return (std::size_t{0} + ... + detail::room_behind(access)); },
                          static_cast<const Source*>(source)->accesses);
    }
    static void construct(void* storage, void* source, void* const* bases) {
        bind(storage, *static_cast<Source*>(source), bases, std::index_sequence_for<Accesses...>{});
    }
    static ReductionSpec reduction(const void* source, std::size_t k) {
        ReductionSpec found{};
        const auto look = [&](const auto& access) {
            if constexpr (is_reduce_access<std::remove_cvref_t<decltype(access)>>) {
                if (k-- == 0) found = access.spec();
            }
        };
        std::apply([&](const auto&... access) { (look(access), ...); }, static_cast<const Source*>(source)->accesses);
        return found;
    }
    static constexpr KernelOps ops = [] {
        KernelOps result = Kernel::ops(construct);
        result.binds_views = true;
        if ((is_reduce_access<Accesses> || ...)) result.reduction = &reduction;
        if ((is_range_access<Accesses> || ...)) result.room_behind = &room;
        return result;
    }();
};

/// Kernels that take the addresses of a list's data: `List` is Addresses or DatumAddresses.
template <class F, class G, class List>
struct ListOps {
    struct Source {
        F cpu;
        G gpu;
        const AccessList& list;
    };
    using Kernel = BoundKernel<F, G, StoredAddresses<List>>;
    static void construct(void* storage, void* source, void* const* bases) {
        auto& from = *static_cast<Source*>(source);
        ArgumentSource arguments{bases, static_cast<std::byte*>(storage) + sizeof(Kernel)};
        ::new (storage) Kernel{std::move(from.cpu), std::move(from.gpu), {StoredAddresses<List>(from.list, arguments)}};
    }
    static std::size_t room(const void* source) {
        return StoredAddresses<List>::bytes(static_cast<const Source*>(source)->list.offsets().size());
    }
    static constexpr KernelOps ops = [] {
        KernelOps result = Kernel::ops(construct);
        result.binds_views = true;
        result.room_behind = &room;
        return result;
    }();
};

template <class T>
struct IsAccess : std::false_type {};
template <class T>
struct IsAccess<Access<T>> : std::true_type {};
template <class T, class Range>
struct IsAccess<RangeAccess<T, Range>> : std::true_type {};
template <class T>
struct IsAccess<ReduceAccess<T>> : std::true_type {};
template <class T>
struct IsAccess<ObjectAccess<T>> : std::true_type {};
template <>
struct IsAccess<AccessList> : std::true_type {};

/// The records of accesses and ranges, one behind the other, on the stack of who submits; more than a few take memory.
class RecordBuffer {
  public:
    explicit RecordBuffer(std::size_t count) : many_(count > few ? count : 0), next_(begin()) {}
    void add(const AccessRecord& record) { *next_++ = record; }
    template <class A>
    requires requires(const A& access) { access.record; }
    void add(const A& access) { add(access.record); }
    template <class T, class Range>
    void add(const RangeAccess<T, Range>& accesses) {
        accesses.for_each([this](const Access<T>& access) { add(access); });
    }
    void add(std::span<const AccessRecord> records) { next_ = std::copy(records.begin(), records.end(), next_); }
    AccessRecord* begin() { return many_.empty() ? few_.data() : many_.data(); }

  private:
    static constexpr std::size_t few = most_accesses_without_allocation;
    std::array<AccessRecord, few> few_;
    std::vector<AccessRecord> many_;
    AccessRecord* next_;
};
template <class A>
std::size_t records_of(const A&) {
    return 1;
}
template <class T, class Range>
std::size_t records_of(const RangeAccess<T, Range>& accesses) {
    return accesses.size();
}
template <class T>
struct IsCudaKernel : std::false_type {};
template <class F>
struct IsCudaKernel<CudaKernel<F>> : std::true_type {};

}  // namespace detail

}  // namespace basalt
