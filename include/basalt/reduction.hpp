#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

#include "basalt/access.hpp"

namespace basalt {

/// In which order the results of tasks that reduce() are combined.
enum class Order : std::uint8_t {
    any,            ///< a copy for each worker: rounding may differ from run to run
    deterministic,  ///< a copy for every 32nd task: the same bits, whatever the number of workers and the timing
};

namespace detail {

/// Rows, columns and strides of a view whose element type is not known.
struct ViewShape {
    Index rows = 0;
    Index cols = 0;
    Index row_stride = 1;
    Index col_stride = 1;

    template <class T>
    View<T> view(void* first) const {
        return View<T>(static_cast<T*>(first), rows, cols, row_stride, col_stride);
    }
    /// The shape of a copy without gaps between the elements, in the same order.
    ViewShape without_gaps() const {
        return col_stride < row_stride ? ViewShape{rows, cols, cols, 1} : ViewShape{rows, cols, 1, rows};
    }
};

/// Identity and combine of a reduction, for code that does not know the types.
struct ReductionOps {
    std::size_t element_size;
    /// `identity`: the bytes of a value, or what is ignored.
    void (*initialise)(void* copy, const ViewShape& shape, const void* identity);
    void (*combine)(void* into, const ViewShape& into_shape, const void* from, const ViewShape& from_shape);
};

/// What a reduce access asks for.
struct ReductionSpec {
    const ReductionOps* ops;  ///< one for each pair of types
    const void* identity;     ///< `ops->element_size` bytes
    Order order;
    Index offset;  ///< elements from the start of the datum to the first element of the region
    ViewShape shape;
};

template <class Combine, class T>
inline constexpr bool combines_elements = std::is_invocable_r_v<T, Combine, const T&, const T&>;
/// Evaluated only where the combine takes no elements: a generic one need not compile for views.
template <class Combine, class T>
inline constexpr bool is_combine = std::disjunction_v<std::bool_constant<combines_elements<Combine, T>>,
                                                      std::is_invocable<Combine, View<T>, View<const T>>>;
template <class Identity, class T>
inline constexpr bool is_initialiser = std::is_invocable_v<Identity, View<T>>;

template <class T, class Identity, class Combine>
struct ReductionOf {
    static void initialise(void* copy, const ViewShape& shape, const void* identity) {
        const View<T> view = shape.view<T>(copy);
        if constexpr (is_initialiser<Identity, T>) {
            Identity{}(view);
        } else {
            alignas(T) std::array<std::byte, sizeof(T)> value;
            std::memcpy(value.data(), identity, sizeof(T));
            for (Index j = 0; j < view.cols(); ++j) {
                for (Index i = 0; i < view.rows(); ++i) std::memcpy(&view(i, j), value.data(), sizeof(T));
            }
        }
    }
    static void combine(void* into, const ViewShape& into_shape, const void* from, const ViewShape& from_shape) {
        const View<T> result = into_shape.view<T>(into);
        const View<const T> other = from_shape.view<const T>(const_cast<void*>(from));
        if constexpr (combines_elements<Combine, T>) {
            const Combine combine{};
            for (Index j = 0; j < result.cols(); ++j) {
                for (Index i = 0; i < result.rows(); ++i) result(i, j) = combine(result(i, j), other(i, j));
            }
        } else {
            Combine{}(result, other);
        }
    }
    static constexpr ReductionOps ops{sizeof(T), &initialise, &combine};
};

/// The address of the calling worker's copy, made at its first use. `share`: what the runtime gave the task.
void* private_copy(void* share);

/// The view of a private copy as a task stores it: only the worker that runs the task knows the address.
template <class T>
struct StoredShare {
    void* share;  ///< nullptr for an empty region
    ViewShape shape;

    View<T> view() const { return shape.view<T>(share != nullptr ? private_copy(share) : nullptr); }
};

}  // namespace detail

/// What reduce() returns.
template <class T>
struct ReduceAccess {
    detail::AccessRecord record;
    const detail::ReductionOps* ops;
    alignas(T) std::array<std::byte, sizeof(T)> identity;
    Order order;
    Index offset;
    detail::ViewShape shape;

    using Element = T;

    detail::ReductionSpec spec() const { return {ops, identity.data(), order, offset, shape}; }
};

/// The task adds its part to a result that many tasks compute at the same time, each worker in a copy of its own. The
/// kernel gets a View<T> of the copy, with what earlier tasks of this worker have left there, and adds to it.
///
/// `identity` is a value that each element of a copy begins with, or f(View<T>), which sets all of it. `combine`
/// returns the combination of two elements, T(const T&, const T&) such as std::plus<>, or combines whole copies,
/// void(View<T> into, View<const T> from). It must be associative and commutative, as far as rounding allows. Functions
/// have no state (a lambda without captures) and do not throw: if combine does, the region has no contents.
///
/// Before the next task that uses the region in another way, and before a wait() for a graph of one of the tasks ends,
/// the copies are combined in a tree, and the result with what the region held before. Tasks reduce together as long
/// as region, types and value of `identity` and `combine`, and `order` are the same, and nothing else uses a part of
/// the region in between; otherwise one reduction follows the other. Tasks of several graphs may reduce together; the
/// wait() of one of them then waits for the others' tasks as well.
///
/// Memory: with Order::any at most a copy for each worker; with Order::deterministic at most 32, and tasks that share
/// one run one after the other, in the order of their submission. The kernel's result must not depend on the copy that
/// it adds to. For the same bits, programs must submit the same tasks and wait at the same places.
///
/// Errors are those of readwrite(): if one of the tasks fails or is cancelled, the region has no contents, and a task
/// that reads it gets a DataError that names one of those that failed.
///
/// The tasks run on CPU cores: submit() throws UsageError for one that is placed on a GPU or has no CPU kernel. If the
/// contents are on a GPU, they come to the host first. In a gang, each member gets its own worker's copy; a gang with
/// Order::deterministic is refused, because its size varies; a coroutine with Order::any, because it changes workers.
/// Children may reduce into what their parent accesses with write(), readwrite() or commute(), but may not access what
/// it reduces into. A task may not use the region in another way at the same time. A kernel that takes no views gets no
/// copy; then reduce() means readwrite().
template <class T, class Identity, class Combine>
ReduceAccess<T> reduce(const Region<T>& region, const Identity& identity, const Combine&, Order order = Order::any) {
    static_assert(std::is_empty_v<Combine> && std::is_default_constructible_v<Combine>,
                  "combine is a function object without state: a lambda without captures, or one such as std::plus<>");
    static_assert(detail::is_combine<Combine, T>,
                  "combine is called as T(const T&, const T&) or as void(View<T> into, View<const T> from)");
    ReduceAccess<T> access{};
    access.record = detail::make_access<T>(region, AccessMode::reduce).record;
    constexpr bool sets_view = detail::is_initialiser<Identity, T>;
    access.ops = &detail::ReductionOf<T, std::conditional_t<sets_view, Identity, T>, Combine>::ops;
    access.order = order;
    access.offset = region.offset;
    access.shape = {region.rows, region.cols, region.row_stride, region.col_stride};
    if constexpr (sets_view) {
        static_assert(std::is_empty_v<Identity> && std::is_default_constructible_v<Identity>,
                      "a function that sets the identity has no state: a lambda without captures");
    } else {
        static_assert(std::is_convertible_v<Identity, T>, "identity is an element, or called as void(View<T>)");
        const T value = static_cast<T>(identity);
        std::memcpy(access.identity.data(), &value, sizeof(T));
    }
    return access;
}
template <HasRegion D, class Identity, class Combine>
auto reduce(const D& data, const Identity& identity, const Combine& combine, Order order = Order::any) {
    return reduce(data.region(), identity, combine, order);
}

}  // namespace basalt
