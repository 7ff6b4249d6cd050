#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

#include "basalt/access.hpp"
#include "basalt/reduction.hpp"

namespace basalt {

/// The data of a task submitted with an AccessList: for each access, in the order of the list, the address of the
/// region's first element where the task runs (nullptr for an empty region). The addresses lie in the task: a kernel
/// that needs them after it returned copies them.
using Addresses = std::span<void* const>;

namespace detail {

/// The same for tasks of the library's own: the address of the first element of the whole array or tile column.
struct DatumAddresses : Addresses {
    DatumAddresses(void* const* first, std::size_t count) : Addresses(first, count) {}
};

/// Where the arguments of a kernel come from, and where those go whose number is known only at submission.
struct ArgumentSource {
    void* const* bases;  ///< the address of the next access's datum
    std::byte* room;     ///< behind the closures: memory for the next array of arguments, of KernelOps::room_behind()
};

/// Arguments whose number is known only at submission, as they are stored in a task: the array lies behind the task's
/// closures. A copy, which a recording makes, has memory of its own.
template <class Element>
class StoredArray {
  public:
    static_assert(alignof(Element) <= alignof(void*) && std::is_trivially_destructible_v<Element>);

    /// Takes room for the elements, which the caller makes there.
    StoredArray(ArgumentSource& source, std::size_t count)
        : first_(reinterpret_cast<Element*>(source.room)), count_(count) {
        source.room += bytes(count);
    }
    StoredArray(const StoredArray& other) : count_(other.count_), own_(std::make_unique<Element[]>(other.count_)) {
        first_ = std::copy_n(other.first_, count_, own_.get()) - count_;
    }
    StoredArray(StoredArray&&) noexcept = default;
    StoredArray& operator=(const StoredArray&) = delete;
    StoredArray& operator=(StoredArray&&) = delete;
    ~StoredArray() = default;

    static constexpr std::size_t bytes(std::size_t count) { return count * sizeof(Element); }

    std::size_t size() const { return count_; }
    Element* begin() { return first_; }
    Element* end() { return first_ + count_; }
    const Element* begin() const { return first_; }

  private:
    Element* first_;
    std::size_t count_;
    std::unique_ptr<Element[]> own_;  ///< of a copy
};

/// A view as it is stored in a task: in three words instead of five, so that fewer cache lines go from the thread that
/// submits the task to the one that runs it. One of its strides is 1, as in all views that accesses lead to, and
/// sizes and strides are below 2^47.
template <class T>
class StoredView {
  public:
    explicit StoredView(const View<T>& view) : data_(view.data()) {
        assert(view.row_stride() == 1 || view.col_stride() == 1);
        const bool by_columns = view.row_stride() == 1, tall = view.rows() >= view.cols();
        const std::uint64_t longer = word(tall ? view.rows() : view.cols());
        const std::uint64_t shorter = word(tall ? view.cols() : view.rows());
        const std::uint64_t stride = word(by_columns ? view.col_stride() : view.row_stride());
        longer_ = longer | word(tall) << size_bits | shorter << upper;
        stride_ = stride | word(by_columns) << size_bits | shorter >> (64 - upper) << upper;
    }
    View<T> view() const {
        const Index longer = size(longer_), stride = size(stride_);
        const auto shorter = static_cast<Index>(stride_ >> upper << (64 - upper) | longer_ >> upper);
        const bool tall = flag(longer_), by_columns = flag(stride_);
        return View<T>(data_, tall ? longer : shorter, tall ? shorter : longer, by_columns ? 1 : stride,
                       by_columns ? stride : 1);
    }

  private:
    static constexpr int size_bits = 47, upper = size_bits + 1;  // behind a size a flag, then half of the shorter side

    static constexpr std::uint64_t word(Index size) { return static_cast<std::uint64_t>(size); }
    static constexpr Index size(std::uint64_t word) {
        return static_cast<Index>(word & ((std::uint64_t{1} << size_bits) - 1));
    }
    static constexpr bool flag(std::uint64_t word) { return (word >> size_bits & 1) != 0; }

    T* data_;
    // Whole words: bit-fields would be read before they are written, from memory that another core may have used last.
    std::uint64_t longer_;  ///< with whether rows are the longer side, and the lower bits of the shorter one
    std::uint64_t stride_;  ///< with whether it is that of columns, and the upper bits of the shorter side
};

/// The views of a range of regions, as they are stored in a task.
template <class T>
struct StoredViews : StoredArray<View<T>> {
    template <class Range>
    StoredViews(const RangeAccess<T, Range>& accesses, ArgumentSource& source)
        : StoredArray<View<T>>(source, accesses.size()) {
        View<T>* next = this->begin();
        accesses.for_each([&](const Access<T>& access) { ::new (next++) View<T>(access.view(*source.bases++)); });
    }
};

/// The addresses of a list's data, as they are stored in a task. `List`: Addresses or DatumAddresses.
template <class List>
struct StoredAddresses : StoredArray<void*> {
    StoredAddresses(const AccessList& list, ArgumentSource& source)
        : StoredArray<void*>(source, list.offsets().size()) {
        void** next = begin();
        for (const Index offset : list.offsets()) {
            void* address = *source.bases++;
            if constexpr (std::is_same_v<List, Addresses>) {
                if (address != nullptr) address = static_cast<std::byte*>(address) + offset;
            }
            ::new (next++) void*(address);
        }
    }
};

/// What a task stores for an access, and what its kernel gets.
template <class Access>
struct ArgumentOf;
template <class T>
struct ArgumentOf<Access<T>> {
    using Stored = StoredView<T>;
    using Passed = View<T>;
    static Stored bind(const Access<T>& access, ArgumentSource& from) { return Stored(access.view(*from.bases++)); }
};
template <class T, class Range>
struct ArgumentOf<RangeAccess<T, Range>> {
    using Stored = StoredViews<T>;
    using Passed = Views<T>;
    static Stored bind(const RangeAccess<T, Range>& accesses, ArgumentSource& from) { return {accesses, from}; }
};
template <class T>
struct ArgumentOf<ReduceAccess<T>> {
    using Stored = StoredShare<T>;
    using Passed = View<T>;
    static Stored bind(const ReduceAccess<T>& access, ArgumentSource& from) {
        return {*from.bases++, access.shape.without_gaps()};
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
    static Stored bind(const ObjectAccess<T>&, ArgumentSource& from) { return {static_cast<T*>(*from.bases++)}; }
};
/// Of the access, in bytes: what its arguments take behind the closures.
template <class Access>
std::size_t room_behind(const Access&) {
    return 0;
}
template <class T, class Range>
std::size_t room_behind(const RangeAccess<T, Range>& accesses) {
    return StoredViews<T>::bytes(accesses.size());
}
template <class Stored>
const Stored& passed(const Stored& argument) {
    return argument;
}
template <class T>
View<T> passed(const StoredView<T>& argument) {
    return argument.view();
}
template <class T>
Views<T> passed(const StoredViews<T>& argument) {
    return {argument.begin(), argument.size()};
}
template <class List>
List passed(const StoredAddresses<List>& argument) {
    return {argument.begin(), argument.size()};
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
    /// `packed_ld`, by datum as well: where it is not 0, columns have that distance from each other afterwards.
    DataShifts(const std::uint32_t* datum, const std::ptrdiff_t* shifts, const Index* packed_ld = nullptr)
        : datum_(datum), shifts_(shifts), packed_ld_(packed_ld) {}

    template <class T>
    void move_next(View<T>& view) {
        const Index ld = packed_ld_ != nullptr ? packed_ld_[*datum_] : 0;
        view =
            View<T>(moved(view.data()), view.rows(), view.cols(), view.row_stride(), ld != 0 ? ld : view.col_stride());
    }
    template <class T>
    void move_next(StoredView<T>& stored) {
        View<T> view = stored.view();
        move_next(view);
        stored = StoredView<T>(view);
    }
    template <class T>
    void move_next(StoredViews<T>& stored) {
        for (View<T>& view : stored) move_next(view);
    }
    template <class T>
    void move_next(StoredObject<T>& object) {
        object.value = moved(object.value);
    }
    template <class List>
    void move_next(StoredAddresses<List>& addresses) {
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
    const Index* packed_ld_;
};

}  // namespace detail

}  // namespace basalt
