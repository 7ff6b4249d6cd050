#pragma once

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "basalt/access.hpp"
#include "basalt/error.hpp"
#include "basalt/future.hpp"
#include "basalt/task_handle.hpp"
#include "basalt/task_options.hpp"
#include "basalt/view.hpp"

namespace basalt {

template <class T = void>
class Routine;

namespace detail {

/// Runs the coroutine as the calling thread's task, up to its first co_await of a task that is not done.
void begin_coroutine(std::coroutine_handle<> coroutine);
/// Resumes the coroutine, which the calling thread runs, when the task has completed, however it ended.
void resume_behind(const TaskHandle& task, std::coroutine_handle<> coroutine);
/// Throws the error of a task that is done, if it has one: the coroutine is told of it.
void tell_error_of(const TaskHandle& task);
/// Throws UsageError, for a Routine or Future that is empty or was moved from.
[[noreturn]] void refuse_empty(const char* what);

/// co_await handle.
struct HandleAwaiter {
    TaskHandle task;

    bool await_ready() const { return task.done(); }
    void await_suspend(std::coroutine_handle<> coroutine) const { resume_behind(task, coroutine); }
    void await_resume() const { tell_error_of(task); }
};

/// co_await future.
template <class T>
struct FutureAwaiter {
    Future<T> future;

    bool await_ready() const { return future.done(); }
    void await_suspend(std::coroutine_handle<> coroutine) const { resume_behind(future.task(), coroutine); }
    T await_resume() {
        tell_error_of(future.task());
        return HandleAccess::take(future);
    }
};

/// What the promises of all routines have in common.
struct RoutinePromiseBase {
    std::coroutine_handle<> awaiting{};  ///< the routine that awaits this one; none: it is a task's
    std::exception_ptr error;            ///< for that routine

    std::suspend_always initial_suspend() const noexcept { return {}; }
    struct BackToCaller {
        bool await_ready() const noexcept { return false; }
        template <class Promise>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
            const std::coroutine_handle<> awaiting = ended.promise().awaiting;
            return awaiting ? awaiting : std::noop_coroutine();
        }
        void await_resume() const noexcept {}
    };
    BackToCaller final_suspend() const noexcept { return {}; }
    void unhandled_exception() {
        if (!awaiting) throw;  // out of the task's kernel
        error = std::current_exception();
    }

    HandleAwaiter await_transform(const TaskHandle& task) const { return {task}; }
    template <class T>
    FutureAwaiter<T> await_transform(Future<T>&& future) const {
        if (!future.valid()) refuse_empty("co_await of an empty Future");
        return {std::move(future)};
    }
    template <class T>
    FutureAwaiter<T> await_transform(Future<T>& future) const {
        return await_transform(std::move(future));
    }
    template <class T>
    auto await_transform(Routine<T>&& routine) const {
        if (!routine.coroutine_) refuse_empty("co_await of an empty Routine");
        return typename Routine<T>::Awaiter{std::move(routine)};
    }
};

template <class T>
struct RoutinePromise : RoutinePromiseBase {
    std::optional<T> own;
    std::optional<T>* value = &own;  ///< where the value goes

    Routine<T> get_return_object();
    template <class U>
    requires std::is_convertible_v<U&&, T>
    void return_value(U&& result) { value->emplace(std::forward<U>(result)); }
};
template <>
struct RoutinePromise<void> : RoutinePromiseBase {
    Routine<void> get_return_object();
    void return_void() const {}
};

}  // namespace detail

/// A coroutine that runs as a task: submit() a kernel that returns one, usually a lambda.
///
///     basalt::Future<int> sum = rt.submit({.name = "sum"}, readwrite(x), [&](View<double> x) -> basalt::Routine<int> {
///         co_await rt.submit({}, write(first), fill);    // tasks submitted inside are the task's children
///         co_return co_await rt.submit({}, read(x), count);
///     });
///
/// co_await takes a TaskHandle, a Future<T>, which it uses up, and a Routine<T>, which runs as a part of this one. No
/// thread blocks meanwhile: where the awaited task is not done, the thread goes on with other tasks, and the coroutine
/// is resumed as a task on any worker, with the priority of its own. It holds the data of its accesses until it ends.
/// submit() returns a Future<T>, or for a Routine<> a TaskHandle, whose task completes when the coroutine has ended and
/// all tasks that it has submitted have.
///
/// Errors. co_await throws the error of the awaited task, and the coroutine may handle it. Unlike in other tasks, the
/// error of one child does not cancel the others. When the coroutine ends, it fails with the first error of a child
/// that it has not awaited. What it throws itself fails its task.
///
/// What it must not do is to block: wait(), TaskHandle::wait(), Future::get() of a task that is not done, and
/// parallel_for() throw UsageError inside it. Nor may it reduce() with Order::any: the private copy belongs to a
/// worker, and the coroutine may go on on another one. submit() throws UsageError for that, and co_await for a Future
/// or Routine that is empty.
///
/// End. The coroutine's frame, with the lambda and what it captured, belongs to the task and ends with it. When its
/// graph is cancelled, a coroutine that has begun is not resumed any more: its frame is destroyed where it stands, and
/// the destructors of its local objects run when the tasks that it had submitted have ended, like those of what a
/// kernel captured. A coroutine whose parameters are references is fine as long as what they refer to exists; a lambda
/// that is submitted may capture by value without care. A Routine that is neither submitted nor awaited never begins.
///
/// Movable, not copyable.
template <class T>
class [[nodiscard]] Routine {
  public:
    using promise_type = detail::RoutinePromise<T>;

    Routine() = default;
    Routine(Routine&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
    Routine& operator=(Routine&& other) noexcept {
        if (this == &other) return *this;
        if (coroutine_) coroutine_.destroy();
        coroutine_ = std::exchange(other.coroutine_, nullptr);
        return *this;
    }
    ~Routine() {
        if (coroutine_) coroutine_.destroy();
    }

    /// co_await of a routine inside another one.
    struct Awaiter {
        Routine routine;

        bool await_ready() const noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) const noexcept {
            routine.coroutine_.promise().awaiting = awaiting;
            return routine.coroutine_;
        }
        T await_resume() {
            promise_type& promise = routine.coroutine_.promise();
            if (promise.error) std::rethrow_exception(promise.error);
            if constexpr (!std::is_void_v<T>) return std::move(*promise.own);
        }
    };

  private:
    friend promise_type;
    friend detail::RoutinePromiseBase;
    template <class R>
    friend struct detail::Delivery;
    explicit Routine(std::coroutine_handle<promise_type> coroutine) : coroutine_(coroutine) {}

    std::coroutine_handle<promise_type> coroutine_{};
};

namespace detail {

template <class T>
Routine<T> RoutinePromise<T>::get_return_object() {
    return Routine<T>(std::coroutine_handle<RoutinePromise>::from_promise(*this));
}
inline Routine<void> RoutinePromise<void>::get_return_object() {
    return Routine<void>(std::coroutine_handle<RoutinePromise>::from_promise(*this));
}

/// A kernel that is a coroutine: the task owns its frame.
template <class T>
struct Delivery<Routine<T>> {
    static constexpr bool changes_worker = true;
    struct NoValue {};
    using Value = std::conditional_t<std::is_void_v<T>, NoValue, std::shared_ptr<std::optional<T>>>;

    template <class F>
    struct Kernel {
        F function;
        [[no_unique_address]] Value value;
        std::shared_ptr<const void> views{};
        Routine<T> running{};  // behind the function and the views, which it may refer to: it ends first

        template <class... Argument>
        requires std::is_invocable_v<F&, PassedOn<Argument>...>
        void operator()(Argument&&... argument) {
            if constexpr ((tells_where<std::remove_cvref_t<Argument>> || ...)) {
                // what is passed ends with this call, but the coroutine's parameters may be references
                using Kept = std::tuple<std::conditional_t<tells_where<std::remove_cvref_t<Argument>>,
                                                           const std::remove_cvref_t<Argument>, Argument&>...>;
                const auto kept = std::make_shared<const Kept>(argument...);
                views = kept;
                running = std::apply(function, *kept);
            } else {
                running = function(static_cast<PassedOn<Argument>>(argument)...);
            }
            if (!running.coroutine_) refuse_empty("the kernel returned an empty Routine");
            if constexpr (!std::is_void_v<T>) running.coroutine_.promise().value = value.get();
            begin_coroutine(running.coroutine_);
        }
    };

    template <class F, class Submit>
    static auto submit(const TaskOptions& options, F&& kernel, const Submit& submit) {
        refuse_gang(options);
        using K = Kernel<std::decay_t<F>>;
        if constexpr (std::is_void_v<T>) {
            const TaskHandle task = submit(K{std::forward<F>(kernel), {}});
            refuse_recorded(task, options);
            return task;
        } else {
            auto value = std::make_shared<std::optional<T>>();
            const TaskHandle task = submit(K{std::forward<F>(kernel), value});
            refuse_recorded(task, options);
            return Future<T>(task, std::move(value));
        }
    }
};

}  // namespace detail

}  // namespace basalt
