#pragma once

#include <cstdint>
#include <vector>

#include "basalt/view.hpp"

namespace basalt {

/// How a task uses a region of a datum.
///
/// read: shared with other readers. write: the task overwrites all of the region without reading it.
/// readwrite: exclusive, in program order. commute: exclusive, but commuting tasks run in any order.
enum class AccessMode : std::uint8_t { read, write, readwrite, commute };

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
    AccessMode mode;
};

}  // namespace detail

/// A region of a datum together with the view of it that a kernel gets. Made by Array and Matrix.
///
/// The view's strides and shape are fixed; its address is filled in when the task is submitted, because a
/// write-only array may be renamed then.
template <class T>
struct Region {
    detail::Datum* datum;
    Index row_begin;
    Index row_end;
    std::int32_t col_begin;
    std::int32_t col_end;
    Index offset;  ///< elements from the start of the datum to the first element of the view
    Index rows;
    Index cols;
    Index row_stride;
    Index col_stride;
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

    using Element = T;

    /// `base` is the datum's memory; nullptr for an empty region.
    View<T> view(void* base) const {
        T* first = base == nullptr ? nullptr : static_cast<T*>(base) + offset;
        return View<T>(first, rows, cols, row_stride, col_stride);
    }
};

namespace detail {

template <class Element, class T>
Access<Element> make_access(const Region<T>& r, AccessMode mode) {
    return {{r.datum, r.row_begin, r.row_end, r.col_begin, r.col_end, mode},
            r.offset,
            r.rows,
            r.cols,
            r.row_stride,
            r.col_stride};
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

/// The task updates the region exclusively, in any order among commuting tasks.
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

/// A list of accesses of any length, built step by step, for tasks whose data are known only at run time. If the same
/// region is named several times, the strongest mode holds.
class AccessList {
  public:
    template <class T>
    AccessList& add(const Access<T>& access) {
        records_.push_back(access.record);
        return *this;
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

    void clear() { records_.clear(); }
    const std::vector<detail::AccessRecord>& records() const { return records_; }

  private:
    std::vector<detail::AccessRecord> records_;
};

}  // namespace basalt
