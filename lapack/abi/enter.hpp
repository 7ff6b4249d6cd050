#pragma once

#include <atomic>
#include <cstddef>
#include <type_traits>

#include "lapack/abi/behind.hpp"
#include "lapack/abi/describe.hpp"
#include "lapack/abi/engine.hpp"
#include "lapack/abi/gpu_memory.hpp"
#include "lapack/abi/log.hpp"
#include "lapack/abi/rule.hpp"
#include "lapack/abi/settings.hpp"
#include "lapack/abi/xerbla.hpp"
#include "lapack/call.hpp"

namespace basalt::lapack {

/// An exported symbol.
struct Entry {
    const char* symbol;  ///< "scipy_dgesv_64_"
    const char* xerbla;  ///< "scipy_xerbla_64_"
    std::atomic<void*> behind{nullptr};

    /// The function of that name in the library behind; nullptr if there is none. Looked for once.
    void* function_behind(const void* caller) {
        void* known = behind.load(std::memory_order_acquire);
        if (known == nullptr) {
            known = find_behind(symbol, caller);
            behind.store(known, std::memory_order_release);
        }
        return known;
    }
};

/// The last of some values.
template <class First, class... Rest>
auto last_of(First first, Rest... rest) {
    if constexpr (sizeof...(rest) == 0) {
        return first;
    } else {
        return last_of(rest...);
    }
}

/// An argument as the library behind gets it.
template <class A>
class Passed {
  public:
    explicit Passed(A value) : value_(value) {}
    A get() const { return value_; }

  private:
    A value_;
};

/// Letters are passed on in upper case: the trtrs of OpenBLAS 0.3.21 refuses others.
template <>
class Passed<const char*> {
  public:
    explicit Passed(const char* letter) : letter_(upper(letter)) {}
    const char* get() const { return &letter_; }

  private:
    char letter_;
};

/// Calls the library behind. Fortran passes the lengths of CHARACTER arguments behind the others. They are not known
/// here, and each routine takes one character, so they are ones; what has fewer such arguments ignores them.
template <class... Arguments>
void pass_on(void* function, Arguments... arguments) {
    using Hidden = std::size_t;
    constexpr Hidden one = 1;
    reinterpret_cast<void (*)(Arguments..., Hidden, Hidden, Hidden)>(function)(Passed<Arguments>(arguments).get()...,
                                                                               one, one, one);
}

/// Whether a call may be taken, as far as its arrays' addresses say. They are looked up in this order, since that costs
/// more than all else.
inline Decision decide_with_memory(Call& call) {
    if (inside_engine()) return Decision::passed_on("called by the engine");
    if (settings().taking == Taking::none || is_empty(call)) return decide(call, settings());
    call.a.memory = memory_of(call.a.data);
    call.b.memory = memory_of(call.b.data);
    call.x.memory = memory_of(call.x.data);
    if (call.a.memory.on_gpu) {
        call.tau.memory = memory_of(call.tau.data);
        call.pivots.memory = memory_of(call.pivots.data);
    }
    return decide(call, settings());
}

/// Executes a call for which there is no library behind, whatever its size; ends the process if that fails.
void execute_without_behind(const char* symbol, Described& d);

/// work[0] = size
void tell_size(const Described& d);

/// What every exported function does. `arguments` are those of the caller, `d` what they say.
template <class I, class... Arguments>
void enter(Entry& entry, const void* caller, Described d, Arguments... arguments) {
    I* const info = last_of(arguments...);
    if (d.wrong != 0) {
        *info = static_cast<I>(-d.wrong);
        if (log_is_on()) log_refusal(entry.symbol, d.wrong);
        return call_xerbla(entry.xerbla, caller, d.call, d.wrong);
    }
    Decision decision{};
    if (!d.asks_size) decision = decide_with_memory(d.call);
    char reason[256];
    const double start = log_is_on() ? now() : 0;
    if (decision.take) {
        if (execute(d.call, reason, sizeof reason)) {
            *info = static_cast<I>(d.call.info);
            tell_size(d);
            if (log_is_on()) log_call(entry.symbol, d.call, decision, now() - start);
            return;
        }
        decision = Decision::passed_on(reason);
    }
    if (void* const function = entry.function_behind(caller)) {
        pass_on(function, arguments...);
        d.call.info = *info;
    } else {
        decision = {.take = !d.asks_size, .why = "no library behind"};
        execute_without_behind(entry.symbol, d);
        *info = static_cast<I>(d.call.info);
    }
    if (!log_is_on()) return;
    d.asks_size ? log_query(entry.symbol, d.call) : log_call(entry.symbol, d.call, decision, now() - start);
}

}  // namespace basalt::lapack
