#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "basalt/access.hpp"
#include "basalt/reduction.hpp"

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
    StoredViews(const StoredViews& other) : count_(other.count_), few_(other.few_) {
        if (!other.many_) return;
        many_ = std::make_unique<View<T>[]>(count_);
        std::copy_n(other.many_.get(), count_, many_.get());
    }
    StoredViews(StoredViews&&) noexcept = default;
    StoredViews& operator=(const StoredViews&) = delete;
    StoredViews& operator=(StoredViews&&) = delete;
    ~StoredViews() = default;

    Views<T> views() const { return {first(), count_}; }
    std::span<View<T>> views() { return {many_ ? many_.get() : few_.data(), count_}; }

  private:
    static constexpr std::size_t few = 4;
    const View<T>* first() const { return many_ ? many_.get() : few_.data(); }

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
template <class T>
struct ArgumentOf<ReduceAccess<T>> {
    using Stored = StoredShare<T>;
    using Passed = View<T>;
    static Stored bind(const ReduceAccess<T>& access, void* const*& bases) {
        return {*bases++, access.shape.without_gaps()};
    }
};
/// An Object's value, as it is stored in a task.
template <class T>
struct StoredObject {
    T* value;
};
template <class T>
struct ArgumentOf<ObjectAccess<T>> {
    using Stored = StoredObject<T>;
    using Passed = T&;
    static Stored bind(const ObjectAccess<T>&, void* const*& bases) { return {static_cast<T*>(*bases++)}; }
};
template <class Stored>
const Stored& passed(const Stored& argument) {
    return argument;
}
template <class T>
Views<T> passed(const StoredViews<T>& argument) {
    return argument.views();
}
template <class T>
View<T> passed(const StoredShare<T>& argument) {
    return argument.view();
}

template <class T>
T& passed(const StoredObject<T>& argument) {
    return *argument.value;
}

/// By how many bytes the data of a kernel's arguments move: those of its access i by shifts[datum[i]].
class DataShifts {
  public:
    DataShifts(const std::uint32_t* datum, const std::ptrdiff_t* shifts) : datum_(datum), shifts_(shifts) {}

    template <class T>
    void move_next(View<T>& view) {
        view = View<T>(moved(view.data()), view.rows(), view.cols(), view.row_stride(), view.col_stride());
    }
    template <class T>
    void move_next(StoredViews<T>& stored) {
        for (View<T>& view : stored.views()) move_next(view);
    }
    template <class T>
    void move_next(StoredObject<T>& object) {
        object.value = moved(object.value);
    }
    void move_next(std::vector<void*>& addresses) {
        for (void*& address : addresses) address = moved(address);
    }

  private:
    /// Through integers: the two addresses are in different arrays.
    template <class T>
    T* moved(T* from) {
        const std::ptrdiff_t shift = shifts_[*datum_++];
        // NOLINTNEXTLINE(performance-no-int-to-ptr): see above
        return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(from) + static_cast<std::uintptr_t>(shift));
    }

    const std::uint32_t* datum_;
    const std::ptrdiff_t* shifts_;
};

}  // namespace detail

}  // namespace basalt
