#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include <cxxabi.h>

// swapcontext() sets the mask of signals by a system call, which takes longer than the switch itself. Sanitizers know
// it, and do not know the switch below.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define BASALT_TESTS_OWN_SWITCH
#else
#include <ucontext.h>
#endif

namespace basalt_tests {

/// A stack with a suspended computation, which stays where it is in memory. Exceptions may be in flight on several at
/// once: what the C++ runtime knows of them belongs to a fiber, not to the system's thread.
class Fiber {
  public:
    using Entry = void (*)();

    /// Prepares entry() on a stack of its own. It must never return.
    void prepare(Entry entry);
    /// Suspends `from`, which is running, and resumes this one.
    void resume_from(Fiber& from);

  private:
    static constexpr std::size_t stack_bytes = std::size_t{128} << 10;
    struct ExceptionState {
        void* caught = nullptr;
        unsigned int uncaught = 0;
    };

    std::unique_ptr<std::byte[]> stack_;
    ExceptionState exceptions_;
#if defined(BASALT_TESTS_OWN_SWITCH)
    void* sp_ = nullptr;
#else
    ucontext_t context_{};
#endif
};

#if defined(BASALT_TESTS_OWN_SWITCH)
extern "C" void basalt_tests_switch(void** save, void* load);
// the callee-saved registers of the System V ABI; the rest is the caller's business
asm(R"(
.text
.type basalt_tests_switch,@function
basalt_tests_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size basalt_tests_switch,.-basalt_tests_switch
)");
#endif

inline void Fiber::prepare(Entry entry) {
    if (!stack_) stack_ = std::make_unique_for_overwrite<std::byte[]>(stack_bytes);
    exceptions_ = {};
#if defined(BASALT_TESTS_OWN_SWITCH)
    const std::uintptr_t top = (reinterpret_cast<std::uintptr_t>(stack_.get()) + stack_bytes) & ~std::uintptr_t{15};
    auto* words = reinterpret_cast<void**>(top);
    words[-1] = nullptr;
    words[-2] = reinterpret_cast<void*>(entry);  // returned to with the stack as after a call
    for (int i = 3; i <= 8; ++i) words[-i] = nullptr;
    sp_ = words - 8;
#else
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack_.get();
    context_.uc_stack.ss_size = stack_bytes;
    context_.uc_link = nullptr;
    makecontext(&context_, entry, 0);
#endif
}

inline void Fiber::resume_from(Fiber& from) {
    auto* globals = reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals());
    from.exceptions_ = *globals;
    *globals = exceptions_;
#if defined(BASALT_TESTS_OWN_SWITCH)
    basalt_tests_switch(&from.sp_, sp_);
#else
    swapcontext(&from.context_, &context_);
#endif
}

}  // namespace basalt_tests
