#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "basalt/access.hpp"
#include "basalt/future.hpp"
#include "basalt/kernel_ops.hpp"
#include "basalt/task_handle.hpp"
#include "basalt/task_options.hpp"

namespace basalt::detail {

class Engine;

/// The way of every task into the runtime.
Submitted submit(Engine& engine, const TaskOptions& options, const AccessRecord* records, std::size_t count,
                 const KernelOps& ops, void* source);
/// The same for a task that follows others.
Submitted submit_after(Engine& engine, const TaskOptions& options, const AccessRecord* records, std::size_t count,
                       const KernelOps& ops, void* source, std::span<const TaskHandle> after);

/// Arguments of submit() besides accesses and kernels; most tasks have none.
struct NoExtras {};
struct Extras {
    std::span<const TaskHandle> after;
    std::span<const AccessRecord> tokens;
};

template <class X>
inline constexpr bool is_token = std::is_same_v<X, TokenAccess>;
template <class X>
inline constexpr bool is_extra = is_token<X> || is_after<X>;

template <class A>
inline constexpr bool is_object_access = false;
template <class T>
inline constexpr bool is_object_access<ObjectAccess<T>> = true;

/// The arguments for which `Kind` holds, as a tuple of references.
template <bool Wanted, class X>
auto if_wanted(X&& argument) {
    if constexpr (Wanted) {
        return std::forward_as_tuple(std::forward<X>(argument));
    } else {
        return std::tuple<>();
    }
}

/// What a CPU kernel returns, called as call_cpu_kernel() does.
template <class F, class... Argument>
auto result_of_cpu_kernel() {
    if constexpr (std::is_same_v<F, NoKernel>) {
        return std::type_identity<void>();
    } else if constexpr (std::is_invocable_v<F&, const Argument&...>) {
        return std::type_identity<std::decay_t<std::invoke_result_t<F&, const Argument&...>>>();
    } else if constexpr (std::is_invocable_v<F&, const Team&, const Argument&...>) {
        return std::type_identity<std::decay_t<std::invoke_result_t<F&, const Team&, const Argument&...>>>();
    } else if constexpr (std::is_invocable_v<F&>) {
        return std::type_identity<std::decay_t<std::invoke_result_t<F&>>>();
    } else {
        return std::type_identity<std::decay_t<std::invoke_result_t<F&, const Team&>>>();
    }
}
template <class F, class... Argument>
using ResultOfCpuKernel = typename decltype(result_of_cpu_kernel<F, Argument...>())::type;

/// Whether it is a reduce() with Order::any.
template <class A>
bool uses_copy_of_worker(const A& access) {
    if constexpr (requires { access.order; }) {
        return access.order == decltype(access.order)::any;
    } else {
        return false;
    }
}

/// One call of Runtime::submit(): sorts its arguments, and returns what the program gets.
template <class X = NoExtras>
class SubmitCall {
  public:
    SubmitCall(Engine& engine, const RuntimePlace& place, const TaskOptions& options, const X& extras = {})
        : engine_(engine), place_(place), options_(options), extras_(extras) {}

    template <class... Args>
    auto operator()(Args&&... args) const {
        static_assert(sizeof...(Args) > 0, "submit(options, accesses..., kernel): the kernel is missing");
        if constexpr ((is_extra<std::remove_cvref_t<Args>> || ...)) {
            return take_out_extras(std::forward<Args>(args)...);
        } else {
            return sort(std::forward<Args>(args)...);
        }
    }

  private:
    template <class... Args>
    auto take_out_extras(Args&&... args) const {
        constexpr std::size_t afters = (std::size_t{0} + ... + (is_after<std::remove_cvref_t<Args>> ? 1 : 0));
        constexpr std::size_t token_count = (std::size_t{0} + ... + (is_token<std::remove_cvref_t<Args>> ? 1 : 0));
        static_assert(afters <= 1, "submit() takes one after(...), which may name any number of handles");
        const auto tokens =
            std::apply([](const auto&... token) { return std::array<AccessRecord, token_count>{token.record...}; },
                       std::tuple_cat(if_wanted<is_token<std::remove_cvref_t<Args>>>(args)...));
        Extras extras{{}, {tokens.data(), tokens.size()}};
        std::apply([&](const auto&... after) { (..., (extras.after = std::span<const TaskHandle>(after.handles))); },
                   std::tuple_cat(if_wanted<is_after<std::remove_cvref_t<Args>>>(args)...));
        const SubmitCall<Extras> call(engine_, place_, options_, extras);
        return std::apply([&](auto&&... other) { return call(std::forward<decltype(other)>(other)...); },
                          std::tuple_cat(if_wanted<!is_extra<std::remove_cvref_t<Args>>>(std::forward<Args>(args))...));
    }

    template <class... Args>
    auto sort(Args&&... args) const {
        using Types = std::tuple<std::remove_cvref_t<Args>...>;
        constexpr std::size_t count = sizeof...(Args);
        constexpr bool on_gpu = IsCudaKernel<std::tuple_element_t<count - 1, Types>>::value;
        constexpr std::size_t accesses = [] {
            if constexpr (!on_gpu) {
                return count - 1;
            } else if constexpr (count == 1) {
                return std::size_t{0};
            } else {
                return IsAccess<std::tuple_element_t<count - 2, Types>>::value ? count - 1 : count - 2;
            }
        }();
        return pick_kernels<on_gpu>(std::forward_as_tuple(std::forward<Args>(args)...),
                                    std::make_index_sequence<accesses>{});
    }

    template <bool OnGpu, class Tuple, std::size_t... I>
    auto pick_kernels(Tuple&& args, std::index_sequence<I...>) const {
        constexpr std::size_t accesses = sizeof...(I);
        constexpr std::size_t kernels = std::tuple_size_v<std::remove_cvref_t<Tuple>> - accesses;
        if constexpr (!OnGpu) {
            return bind(std::get<accesses>(std::forward<Tuple>(args)), NoKernel{}, std::get<I>(args)...);
        } else if constexpr (kernels == 1) {
            return bind(NoKernel{}, std::get<accesses>(std::forward<Tuple>(args)).function, std::get<I>(args)...);
        } else {
            return bind(std::get<accesses>(std::forward<Tuple>(args)),
                        std::get<accesses + 1>(std::forward<Tuple>(args)).function, std::get<I>(args)...);
        }
    }

    template <class F, class G>
    auto bind(F&& cpu, G&& gpu, const AccessList& list) const {
        using Cpu = std::decay_t<F>;
        using Gpu = std::decay_t<G>;
        constexpr bool users = is_cpu_kernel<Cpu, Addresses> && is_cuda_kernel<Gpu, Addresses>;
        using List = std::conditional_t<users, Addresses, DatumAddresses>;
        static_assert(is_cpu_kernel<Cpu, List> && is_cuda_kernel<Gpu, List>,
                      "a kernel submitted with an AccessList takes (), (const Team&) or the list's Addresses");
        return deliver<Gpu, List>(std::forward<F>(cpu), [&]<class K>(K&& kernel) {
            return submit_list<List>(list, std::forward<K>(kernel), std::forward<G>(gpu));
        });
    }
    template <class F, class G, class... A>
    auto bind(F&& cpu, G&& gpu, const A&... access) const {
        using Cpu = std::decay_t<F>;
        using Gpu = std::decay_t<G>;
        static_assert(is_cpu_kernel<Cpu, typename ArgumentOf<A>::Passed...>,
                      "the kernel takes neither the views of its accesses nor nothing");
        static_assert(!(is_object_access<A> || ...) || std::is_same_v<Gpu, NoKernel>,
                      "a task that accesses an Object has no cuda kernel: objects stay in the host's memory");
        static_assert(is_cuda_kernel<Gpu, typename ArgumentOf<A>::Passed...>,
                      "the cuda kernel takes neither (Stream, views of its accesses...) nor (Stream)");
        if constexpr (Delivery<ResultOfCpuKernel<Cpu, typename ArgumentOf<A>::Passed...>>::changes_worker) {
            if ((uses_copy_of_worker(access) || ...)) refuse_copies_of_workers(options_);
        }
        return deliver<Gpu, typename ArgumentOf<A>::Passed...>(std::forward<F>(cpu), [&]<class K>(K&& kernel) {
            return gather(std::forward<K>(kernel), std::forward<G>(gpu), access...);
        });
    }

    /// Submits so that the program gets what the kernel returns.
    template <class Gpu, class... Argument, class F, class Submit>
    auto deliver(F&& cpu, const Submit& submit) const {
        using Result = ResultOfCpuKernel<std::decay_t<F>, Argument...>;
        static_assert(std::is_void_v<Result> || std::is_same_v<Gpu, NoKernel>,
                      "a kernel that returns a value has no cuda kernel, because that returns none");
        return Delivery<Result>::submit(options_, std::forward<F>(cpu), submit);
    }

    /// The records of all accesses, tokens behind the others: no kernel asks where tokens are.
    template <class F, class G, class... A>
    TaskHandle gather(F&& cpu, G&& gpu, const A&... access) const {
        if constexpr ((is_range_access<A> || ...) || !std::is_same_v<X, NoExtras>) {
            std::size_t count = (std::size_t{0} + ... + records_of(access));
            if constexpr (!std::is_same_v<X, NoExtras>) count += extras_.tokens.size();
            RecordBuffer records(count);
            (records.add(access), ...);
            if constexpr (!std::is_same_v<X, NoExtras>) {
                records.add(extras_.tokens);
            }
            return submit_records(records.begin(), count, std::forward<F>(cpu), std::forward<G>(gpu), access...);
        } else if constexpr (sizeof...(A) == 1) {
            return submit_records(&(access.record, ...), 1, std::forward<F>(cpu), std::forward<G>(gpu), access...);
        } else {
            const std::array<AccessRecord, sizeof...(A)> records{access.record...};
            return submit_records(records.data(), records.size(), std::forward<F>(cpu), std::forward<G>(gpu),
                                  access...);
        }
    }

    template <class F, class G, class... A>
    TaskHandle submit_records(const AccessRecord* records, std::size_t count, F&& cpu, G&& gpu,
                              const A&... access) const {
        using Cpu = std::decay_t<F>;
        using Gpu = std::decay_t<G>;
        if constexpr (sizeof...(A) > 0 && takes_arguments<Cpu, Gpu, typename ArgumentOf<A>::Passed...>) {
            using Ops = ViewOps<Cpu, Gpu, A...>;
            typename Ops::Source source{std::forward<F>(cpu), std::forward<G>(gpu), {access...}};
            return enter(records, count, Ops::ops, &source);
        } else {
            using Ops = PlainOps<Cpu, Gpu>;
            typename Ops::Source source{std::forward<F>(cpu), std::forward<G>(gpu)};
            return enter(records, count, Ops::ops, &source);
        }
    }

    template <class List, class F, class G>
    TaskHandle submit_list(const AccessList& list, F&& cpu, G&& gpu) const {
        if constexpr (std::is_same_v<X, NoExtras>) {
            return submit_list_records<List>(list, list.records(), std::forward<F>(cpu), std::forward<G>(gpu));
        } else {
            const std::size_t count = list.records().size() + extras_.tokens.size();
            RecordBuffer records(count);
            records.add(std::span(list.records()));
            records.add(extras_.tokens);
            return submit_list_records<List>(list, {records.begin(), count}, std::forward<F>(cpu),
                                             std::forward<G>(gpu));
        }
    }

    template <class List, class F, class G>
    TaskHandle submit_list_records(const AccessList& list, std::span<const AccessRecord> records, F&& cpu,
                                   G&& gpu) const {
        using Cpu = std::decay_t<F>;
        using Gpu = std::decay_t<G>;
        if constexpr (takes_arguments<Cpu, Gpu, List>) {
            using Ops = ListOps<Cpu, Gpu, List>;
            typename Ops::Source source{std::forward<F>(cpu), std::forward<G>(gpu), list};
            return enter(records.data(), records.size(), Ops::ops, &source);
        } else {
            using Ops = PlainOps<Cpu, Gpu>;
            typename Ops::Source source{std::forward<F>(cpu), std::forward<G>(gpu)};
            return enter(records.data(), records.size(), Ops::ops, &source);
        }
    }

    TaskHandle enter(const AccessRecord* records, std::size_t count, const KernelOps& ops, void* source) const {
        if constexpr (std::is_same_v<X, NoExtras>) {
            return HandleAccess::make(place_, detail::submit(engine_, options_, records, count, ops, source));
        } else {
            return HandleAccess::make(
                place_, detail::submit_after(engine_, options_, records, count, ops, source, extras_.after));
        }
    }

    Engine& engine_;
    const RuntimePlace& place_;
    const TaskOptions& options_;
    [[no_unique_address]] const X extras_;
};

}  // namespace basalt::detail
