#pragma once

#include <chrono>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "basalt/access.hpp"
#include "basalt/error.hpp"
#include "basalt/task_handle.hpp"

namespace basalt {

template <class T>
class Future;

namespace detail {

/// Waits for the task, as TaskHandle::wait() does, but throws misuse only.
void await_task(const TaskHandle& task);
/// Throws the task's error, if it has one. Does nothing where its runtime has ended.
void rethrow_error_of(const TaskHandle& task);
/// Throws UsageError for a gang: each of its members would return a value.
void refuse_gang(const TaskOptions& options);
/// Throws UsageError: the private copies of a reduction with Order::any belong to workers.
[[noreturn]] void refuse_copies_of_workers(const TaskOptions& options);

/// Calls a kernel and keeps what it returns.
template <class F, class T>
struct ValueKernel {
    F function;
    std::shared_ptr<std::optional<T>> value;

    template <class... Argument>
    requires std::is_invocable_v<F&, PassedOn<Argument>...>
    void operator()(Argument&&... argument) { value->emplace(function(static_cast<PassedOn<Argument>>(argument)...)); }
};

/// Hands the value of a future to a kernel, in front of its views.
template <class F, class T>
struct KernelOfValue {
    F function;
    std::shared_ptr<std::optional<T>> value;

    template <class... Argument>
    requires std::is_invocable_v<F&, T, PassedOn<Argument>...>
    decltype(auto) operator()(Argument&&... argument) {
        return function(std::move(**value), static_cast<PassedOn<Argument>>(argument)...);
    }
};

/// How a kernel's result of type R reaches the program. `submit(kernel)` submits and returns a TaskHandle.
template <class R>
struct Delivery {
    /// Whether the kernel may begin on one worker and go on on another.
    static constexpr bool changes_worker = false;
    static_assert(std::movable<R>, "the value that a kernel returns has to be movable");

    template <class F, class Submit>
    static Future<R> submit(const TaskOptions& options, F&& kernel, const Submit& submit) {
        refuse_gang(options);
        auto value = std::make_shared<std::optional<R>>();
        const TaskHandle task = submit(ValueKernel<std::decay_t<F>, R>{std::forward<F>(kernel), value});
        refuse_recorded(task, options);
        return Future<R>(task, std::move(value));
    }
};
template <>
struct Delivery<void> {
    static constexpr bool changes_worker = false;
    template <class F, class Submit>
    static TaskHandle submit(const TaskOptions&, F&& kernel, const Submit& submit) {
        return submit(std::forward<F>(kernel));
    }
};

}  // namespace detail

/// The value that a task's kernel returns, or its error: submit() returns it for a kernel that returns a T. Only such
/// tasks allocate anything for their result. A future that is dropped drops the value.
///
/// Movable, not copyable; after a move, get() and then() it is empty. One thread at a time uses it. It may outlive its
/// runtime, and delivers the value then, or UsageError where there is none.
template <class T>
class Future {
  public:
    Future() = default;
    Future(Future&&) noexcept = default;
    Future& operator=(Future&&) noexcept = default;
    ~Future() = default;

    /// Whether there is a value to come, or to get.
    bool valid() const { return value_ != nullptr; }
    /// The task: done(), wait(), after() and so on. Waiting for it does not use up the value.
    const TaskHandle& task() const { return task_; }
    bool done() const { return task_.done(); }
    /// See TaskHandle; they throw the task's error, which get() throws all the same.
    void wait() const { task_.wait(); }
    bool wait_for(std::chrono::nanoseconds limit) const { return task_.wait_for(limit); }

    /// Waits for the task and returns its value, once. Throws as TaskHandle::wait() does, for the task's error and for
    /// misuse; after the latter the future is as before. UsageError where it is empty.
    T get() {
        check("get()");
        detail::await_task(task_);
        return take();
    }

    /// Submits a task that follows this one and gets the value: kernel(T, views...). It goes where
    /// TaskHandle::then() sends it. The future is empty afterwards. If the task fails, the new one is dropped.
    template <class F, class... Accesses>
    auto then(const TaskOptions& options, F&& kernel, const Accesses&... accesses);

  private:
    template <class R>
    friend struct detail::Delivery;
    friend struct detail::HandleAccess;

    Future(const TaskHandle& task, std::shared_ptr<std::optional<T>> value) : task_(task), value_(std::move(value)) {}

    void check(const char* call) const {
        if (!valid()) throw UsageError(std::string("Future::") + call + ": it is empty, or its value has been taken");
    }
    /// The task has completed.
    T take() {
        const std::shared_ptr<std::optional<T>> value = std::move(value_);
        detail::rethrow_error_of(task_);
        if (!value->has_value()) {
            throw UsageError("Future::get(): the runtime has ended, and the task failed or did not run");
        }
        return std::move(**value);
    }

    TaskHandle task_;
    std::shared_ptr<std::optional<T>> value_;
};

}  // namespace basalt
