#pragma once

#include <Python.h>

#include <basalt/array.hpp>
#include <basalt/array2d.hpp>
#include <basalt/graph.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <variant>
#include <vector>

namespace basalt_python {

using basalt::Index;
using Bytes = basalt::Region<std::byte>;

/// The memory of an array as Python's buffer protocol describes it.
class Buffer {
  public:
    /// Throws nb::python_error for objects without one.
    explicit Buffer(PyObject* object);
    ~Buffer() { PyBuffer_Release(&buffer_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    const Py_buffer& view() const { return buffer_; }
    /// The bytes from the first to behind the last element, whatever the signs of strides.
    std::uintptr_t begin() const { return begin_; }
    std::uintptr_t end() const { return end_; }

  private:
    Py_buffer buffer_{};
    std::uintptr_t begin_ = 0;
    std::uintptr_t end_ = 0;
};

/// The arrays that tasks use, as data of the runtime. Arrays that share memory must be one datum: an array is known by
/// the memory that its root, the array without a base, has. It is used with the GIL.
///
/// The memory of a root in C or Fortran order is a plane: one dimension, the fast one, within a row of memory, and one
/// across. So blocks of a matrix are regions of their own, and tasks on different ones are independent. The region of
/// any other view is the smallest box or stretch that holds it.
class ArrayRegistry {
  public:
    /// The region of an array. Its root is kept alive until forget().
    Bytes region(basalt::Runtime& runtime, PyObject* array);
    /// Forgets all arrays whose tasks have completed: to be called after a wait, with the GIL.
    void forget();
    std::size_t size() const { return roots_.size(); }

  private:
    using Line = basalt::Array<std::byte>;
    using Plane = basalt::Array2D<std::byte>;
    struct Root {
        std::uintptr_t end;
        Index row_bytes;  ///< of a plane
        std::variant<Line, Plane> data;
        PyObject* owner;
    };
    using Roots = std::map<std::uintptr_t, Root>;

    Roots::iterator root_of(basalt::Runtime& runtime, PyObject* array, const Buffer& buffer);
    Roots::iterator add(basalt::Runtime& runtime, PyObject* root);
    void drop(Roots::iterator root);

    Roots roots_;
};

}  // namespace basalt_python
