#include "python/src/registry.hpp"

#include <nanobind/nanobind.h>
#include <algorithm>
#include <iterator>
#include <utility>

namespace nb = nanobind;

namespace basalt_python {

namespace {

/// The fast dimension of a plane may have up to 2^28 bytes.
constexpr Index most_row_bytes = Index{1} << 28;

/// The array at the end of the chain of bases, which describes all of the memory.
nb::object root_array(PyObject* array) {
    nb::object root = nb::borrow(array);
    for (;;) {
        nb::object base = nb::getattr(root, "base", nb::none());
        if (base.is_none() || !nb::hasattr(base, "__array_interface__") || !nb::hasattr(base, "base")) return root;
        root = std::move(base);
    }
}

/// Bytes in a row of memory, or 0 where the array is no plane.
Index row_bytes_of(const Py_buffer& view) {
    if (view.ndim < 2 || view.len == 0) return 0;
    const bool c_order = PyBuffer_IsContiguous(&view, 'C') != 0;
    if (!c_order && PyBuffer_IsContiguous(&view, 'F') == 0) return 0;
    const Index bytes = view.shape[c_order ? view.ndim - 1 : 0] * view.itemsize;
    return bytes <= most_row_bytes ? bytes : 0;
}

/// The box of a view in a plane of rows with `row_bytes` bytes: offsets within rows, and rows.
struct Box {
    Index fast_begin, fast_end, slow_begin, slow_end;
};
Box box_of(const Buffer& buffer, std::uintptr_t plane, Index row_bytes) {
    const Py_buffer& view = buffer.view();
    const auto begin = static_cast<Index>(buffer.begin() - plane), end = static_cast<Index>(buffer.end() - plane);
    // Strides by whole rows go down; what the others span lies within a row, or else all of the rows are taken.
    Index span = view.itemsize;
    for (int k = 0; k < view.ndim; ++k) {
        const Index stride = std::abs(view.strides[k]);
        if (stride % row_bytes != 0) span += (view.shape[k] - 1) * stride;
    }
    const Index first = begin % row_bytes;
    const Index rows_begin = begin / row_bytes, rows_end = (end + row_bytes - 1) / row_bytes;
    if (first + span <= row_bytes) return {first, first + span, rows_begin, rows_end};
    return {0, row_bytes, rows_begin, rows_end};
}

}  // namespace

Buffer::Buffer(PyObject* object) {
    if (PyObject_GetBuffer(object, &buffer_, PyBUF_STRIDED_RO) != 0) throw nb::python_error();
    auto low = reinterpret_cast<std::uintptr_t>(buffer_.buf),
         high = low + static_cast<std::uintptr_t>(buffer_.itemsize);
    bool empty = false;
    for (int k = 0; k < buffer_.ndim; ++k) {
        const Py_ssize_t reach = (buffer_.shape[k] - 1) * buffer_.strides[k];
        if (buffer_.shape[k] == 0) empty = true;
        if (reach < 0) low -= static_cast<std::uintptr_t>(-reach);
        if (reach > 0) high += static_cast<std::uintptr_t>(reach);
    }
    begin_ = low;
    end_ = empty ? low : high;
}

Bytes ArrayRegistry::region(basalt::Runtime& runtime, PyObject* array) {
    const Buffer buffer(array);
    const auto found = root_of(runtime, array, buffer);
    const std::uintptr_t begin = found->first;
    if (const auto* line = std::get_if<Line>(&found->second.data)) {
        return line->rows(static_cast<Index>(buffer.begin() - begin), static_cast<Index>(buffer.end() - begin));
    }
    const auto& plane = std::get<Plane>(found->second.data);
    if (buffer.begin() == buffer.end()) return plane.part(0, 0, 0, 0);
    const Box box = box_of(buffer, begin, found->second.row_bytes);
    return plane.part(box.fast_begin, box.slow_begin, box.fast_end - box.fast_begin, box.slow_end - box.slow_begin);
}

ArrayRegistry::Roots::iterator ArrayRegistry::root_of(basalt::Runtime& runtime, PyObject* array, const Buffer& buffer) {
    auto after = roots_.upper_bound(buffer.begin());
    if (after != roots_.begin()) {
        const auto before = std::prev(after);
        if (buffer.end() <= before->second.end) return before;
    }
    return add(runtime, root_array(array).ptr());
}

ArrayRegistry::Roots::iterator ArrayRegistry::add(basalt::Runtime& runtime, PyObject* root) {
    const Buffer buffer(root);
    // Other roots on the same memory, which share no base with this one: their tasks end first.
    for (auto other = roots_.begin(); other != roots_.end();) {
        const auto next = std::next(other);
        if (other->first < buffer.end() && buffer.begin() < other->second.end) drop(other);
        other = next;
    }
    auto* const memory = reinterpret_cast<std::byte*>(buffer.begin());
    const auto bytes = static_cast<Index>(buffer.end() - buffer.begin());
    const Index row_bytes = row_bytes_of(buffer.view());
    Root made{buffer.end(), row_bytes, {}, root};
    if (row_bytes > 0) {
        made.data = Plane::wrap(runtime, memory, row_bytes, bytes / row_bytes, row_bytes);
    } else {
        made.data = Line::wrap(runtime, memory, bytes);
    }
    const auto added = roots_.emplace(buffer.begin(), std::move(made)).first;
    Py_INCREF(root);
    return added;
}

void ArrayRegistry::drop(Roots::iterator root) {
    PyObject* const owner = root->second.owner;
    {
        const nb::gil_scoped_release released;  // the end of a datum waits for its tasks, which may need the GIL
        std::visit([](auto& data) { data.release(); }, root->second.data);
    }
    roots_.erase(root);
    Py_DECREF(owner);
}

void ArrayRegistry::forget() {
    while (!roots_.empty()) drop(roots_.begin());
}

}  // namespace basalt_python
