#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "basalt/error.hpp"
#include "basalt/view.hpp"

namespace basalt {

/// How a task uses a region of a datum.
///
/// read: shared with other readers. write: the task overwrites all of the region without reading it.
/// readwrite: exclusive, in program order. commute: exclusive, but commuting tasks run in any order; where data move
/// between memories, that is on a GPU and for data that a GPU has used, it means readwrite. reduce: each worker adds to
/// a copy of its own, see reduce().
enum class AccessMode : std::uint8_t { read, write, readwrite, commute, reduce };

namespace detail {

struct Datum;

/// One entry of a task's access list: rows [row_begin, row_end) and columns [col_begin, col_end) of a datum.
/// Dependencies are kept per region; an empty region depends on nothing.
struct AccessRecord {
    Datum* datum;
    Index row_begin;
    Index row_end;
    std::int32_t col_begin;
    std::int32_t col_end;
    std::uint32_t generation;  ///< of the datum, which has another one as soon as it is given up
    AccessMode mode;
};

}  // namespace detail

/// A region of a datum together with the view of it that a kernel gets. Made by Array and Matrix.
///
/// The view's strides and shape are fixed; its address is filled in when the task is submitted, because a
/// write-only array may be renamed then. A region may outlive its array, its matrix and even the runtime: submit()
/// throws UsageError for an access to what was released.
template <class T>
struct Region {
    detail::Datum* datum;
    std::uint32_t generation;  ///< tells the datum from a later one in the same place
    Index row_begin;
    Index row_end;
    std::int32_t col_begin;
    std::int32_t col_end;
    Index offset;  ///< elements from the start of the datum to the first element of the view
    Index rows;
    Index cols;
    Index row_stride;
    Index col_stride;
    /// Of columns that do not follow each other in the host's memory: where the datum lies there. Anywhere else its
    /// columns follow each other, `packed_ld` elements apart. nullptr: the strides are the same everywhere.
    const void* home = nullptr;
    Index packed_ld = 0;
};

/// A region and the mode in which a task uses it. read(), write(), readwrite() and commute() return it.
template <class T>
struct Access {
    detail::AccessRecord record;
    Index offset;
    Index rows;
    Index cols;
    Index row_stride;
    Index col_stride;
    const void* home;  ///< as in Region
    Index packed_ld;

    using Element = T;

    /// `base` is the datum's memory where the task runs; nullptr for an empty region.
    View<T> view(void* base) const {
        if (home != nullptr && base != home && base != nullptr) [[unlikely]]
            return packed_view(static_cast<T*>(base));
        T* first = base == nullptr ? nullptr : static_cast<T*>(base) + offset;
        return View<T>(first, rows, cols, row_stride, col_stride);
    }
    /// Column-major: the datum's rows are columns.
    View<T> packed_view(T* base) const {
        return View<T>::column_major(base + record.row_begin * packed_ld + record.col_begin, rows, cols, packed_ld);
    }
};

/// How a task uses a Token: an access without data, for which the kernel gets nothing.
struct TokenAccess {
    detail::AccessRecord record;
};

/// How a task uses an Object, for which the kernel gets a T&.
template <class T>
struct ObjectAccess {
    detail::AccessRecord record;
};

namespace detail {

template <class Element, class T>
Access<Element> make_access(const Region<T>& r, AccessMode mode) {
    return {{r.datum, r.row_begin, r.row_end, r.col_begin, r.col_end, r.generation, mode},
            r.offset,
            r.rows,
            r.cols,
            r.row_stride,
            r.col_stride,
            r.home,
            r.packed_ld};
}

}  // namespace detail

/// The task reads the region; its kernel gets a View<const T>.
template <class T>
Access<const T> read(const Region<T>& region) {
    return detail::make_access<const T>(region, AccessMode::read);
}

/// The task overwrites the whole region and never reads its old contents.
template <class T>
Access<T> write(const Region<T>& region) {
    return detail::make_access<T>(region, AccessMode::write);
}

/// The task reads and writes the region, in program order.
template <class T>
Access<T> readwrite(const Region<T>& region) {
    return detail::make_access<T>(region, AccessMode::readwrite);
}

/// The task updates the region exclusively, in any order among commuting tasks. On cores it costs little more than
/// readwrite(). Tasks on a GPU, and tasks on cores whose data a GPU has used, do so in program order, as with
/// readwrite(): one waits for the other even if that one is not ready, because the order tells where the data are. On
/// one GPU they run in one stream, behind each other, without the host.
template <class T>
Access<T> commute(const Region<T>& region) {
    return detail::make_access<T>(region, AccessMode::commute);
}

/// Data with a region(), such as an Array: the functions below access all of it.
template <class D>
concept HasRegion = requires(const D& data) {
    data.region();
};

template <HasRegion D>
auto read(const D& data) {
    return read(data.region());
}
template <HasRegion D>
auto write(const D& data) {
    return write(data.region());
}
template <HasRegion D>
auto readwrite(const D& data) {
    return readwrite(data.region());
}
template <HasRegion D>
auto commute(const D& data) {
    return commute(data.region());
}

namespace detail {

template <class T>
const Region<T>& region_of(const Region<T>& region) {
    return region;
}
template <HasRegion D>
auto region_of(const D& data) {
    return data.region();
}
template <class T>
T element_of(const Region<T>& region);
template <class R>
using ElementOf = decltype(element_of(region_of(*std::ranges::begin(std::declval<const R&>()))));

}  // namespace detail

/// A std::vector, or any other range, of arrays or regions with elements of one type.
template <class R>
concept RegionRange = std::ranges::forward_range<const R> && std::ranges::sized_range<const R> && requires {
    typename detail::ElementOf<R>;
};

/// What read(), write(), readwrite() and commute() return for a range of arrays or regions: an access to each of them.
/// It refers to the range, which must exist until submit() returns.
template <class T, class Range>
struct RangeAccess {
    const Range* range;
    AccessMode mode;

    using Element = T;
    std::size_t size() const { return static_cast<std::size_t>(std::ranges::size(*range)); }
    /// visit(access) for each of them.
    template <class Visit>
    void for_each(const Visit& visit) const {
        for (const auto& data : *range) visit(detail::make_access<T>(detail::region_of(data), mode));
    }
};

/// What a kernel gets for a range of arrays or regions: their views, in the order of the range.
template <class T>
using Views = std::span<const View<T>>;

template <RegionRange R>
RangeAccess<const detail::ElementOf<R>, R> read(const R& range) {
    return {&range, AccessMode::read};
}
template <RegionRange R>
RangeAccess<detail::ElementOf<R>, R> write(const R& range) {
    return {&range, AccessMode::write};
}
template <RegionRange R>
RangeAccess<detail::ElementOf<R>, R> readwrite(const R& range) {
    return {&range, AccessMode::readwrite};
}
template <RegionRange R>
RangeAccess<detail::ElementOf<R>, R> commute(const R& range) {
    return {&range, AccessMode::commute};
}

/// A Token.
template <class T>
concept IsToken = requires(const T& token) {
    { token.access(AccessMode::read) } -> std::same_as<TokenAccess>;
};

template <IsToken T>
TokenAccess read(const T& token) {
    return token.access(AccessMode::read);
}
template <IsToken T>
TokenAccess write(const T& token) {
    return token.access(AccessMode::write);
}
template <IsToken T>
TokenAccess readwrite(const T& token) {
    return token.access(AccessMode::readwrite);
}
template <IsToken T>
TokenAccess commute(const T& token) {
    return token.access(AccessMode::commute);
}

/// An Object.
template <class O>
concept IsObject = requires(const O& object) {
    { object.access(AccessMode::read) } -> std::same_as<ObjectAccess<typename O::Value>>;
};

template <IsObject O>
ObjectAccess<const typename O::Value> read(const O& object) {
    return {object.access(AccessMode::read).record};
}
/// The kernel finds the former value and assigns all of it; objects are not renamed.
template <IsObject O>
ObjectAccess<typename O::Value> write(const O& object) {
    return object.access(AccessMode::write);
}
template <IsObject O>
ObjectAccess<typename O::Value> readwrite(const O& object) {
    return object.access(AccessMode::readwrite);
}
template <IsObject O>
ObjectAccess<typename O::Value> commute(const O& object) {
    return object.access(AccessMode::commute);
}

/// A list of accesses of any length, built step by step, for tasks whose data differ in type or are known only at run
/// time. (For data of one type a range is simpler: read(range) among the accesses of submit().) If the same region is
/// named several times, the strongest mode holds. A list's kernels get addresses alone, so add() throws UsageError for
/// data whose leading dimension depends on where the task runs: an Array2D or a Block whose columns do not follow each
/// other.
class AccessList {
  public:
    template <class T>
    AccessList& add(const Access<T>& access) {
        if (access.home != nullptr) {
            throw UsageError(
                "AccessList: columns that do not follow each other, so that their leading dimension depends on where "
                "the task runs; allowed among the accesses of submit(), alone or in a range");
        }
        records_.push_back(access.record);
        offsets_.push_back(access.offset * static_cast<Index>(sizeof(T)));
        return *this;
    }
    template <class T, class Range>
    AccessList& add(const RangeAccess<T, Range>& accesses) {
        accesses.for_each([this](const Access<T>& access) { add(access); });
        return *this;
    }
    /// Of a token the Addresses have an entry without meaning.
    AccessList& add(const TokenAccess& access) { return add_whole(access.record); }
    /// The address is that of the object's value.
    template <class T>
    AccessList& add(const ObjectAccess<T>& access) {
        return add_whole(access.record);
    }

    template <class Data>
    AccessList& read(const Data& data) {
        return add(basalt::read(data));
    }
    template <class Data>
    AccessList& write(const Data& data) {
        return add(basalt::write(data));
    }
    template <class Data>
    AccessList& readwrite(const Data& data) {
        return add(basalt::readwrite(data));
    }
    template <class Data>
    AccessList& commute(const Data& data) {
        return add(basalt::commute(data));
    }

    void clear() {
        records_.clear();
        offsets_.clear();
    }
    const std::vector<detail::AccessRecord>& records() const { return records_; }
    /// Bytes from the start of each record's datum to the region's first element.
    const std::vector<Index>& offsets() const { return offsets_; }

  private:
    AccessList& add_whole(const detail::AccessRecord& record) {
        records_.push_back(record);
        offsets_.push_back(0);
        return *this;
    }

    std::vector<detail::AccessRecord> records_;
    std::vector<Index> offsets_;
};

namespace detail {

/// Whether a kernel's argument says where data are: views, ranges of them, addresses.
template <class T>
inline constexpr bool tells_where = false;
template <class T>
inline constexpr bool tells_where<View<T>> = true;
template <class T>
inline constexpr bool tells_where<std::span<T>> = true;

/// How a kernel that is made of another one passes an argument on: these as constants, others as they came.
template <class Argument>
using PassedOn =
    std::conditional_t<tells_where<std::remove_cvref_t<Argument>>, const std::remove_cvref_t<Argument>&, Argument&>;

}  // namespace detail

}  // namespace basalt
