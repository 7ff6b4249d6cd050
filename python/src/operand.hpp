#pragma once

#include <basalt/basalt.h>

#include <basalt/error.hpp>

#include <nanobind/ndarray.h>
#include <string>

namespace basalt_python {

namespace nb = nanobind;

/// A matrix or vector of Python's, in the memory of the host or of a GPU. The Python side has checked its dimensions.
struct Operand {
    void* data = nullptr;
    int64_t rows = 0, cols = 1;
    int64_t row_stride = 1, col_stride = 1;  ///< in elements
    basalt_type type = BASALT_DOUBLE;
    basalt_place place = BASALT_ANY;

    /// LAPACK's leading dimension of an array in Fortran order.
    int64_t ld() const { return cols > 1 ? col_stride : (rows > 1 ? rows : 1); }
};

inline basalt_place place_of_device(int type, int number) {
    if (type == nb::device::cpu::value) return BASALT_ANY;
    if (type == nb::device::cuda::value || type == nb::device::cuda_managed::value) return BASALT_GPU(number);
    if (type == nb::device::cuda_host::value) return BASALT_ANY;
    throw basalt::UsageError("an array in the memory of a device of DLPack's type " + std::to_string(type) +
                             "; allowed are the host and CUDA's GPUs");
}

template <class Array>
Operand operand(const Array& array) {
    Operand made;
    made.data = const_cast<void*>(static_cast<const void*>(array.data()));
    if (array.ndim() > 0) {
        made.rows = static_cast<int64_t>(array.shape(0));
        made.row_stride = array.stride(0);
    }
    if (array.ndim() > 1) {
        made.cols = static_cast<int64_t>(array.shape(1));
        made.col_stride = array.stride(1);
    } else {
        made.col_stride = made.rows > 0 ? made.rows * made.row_stride : 1;
    }
    made.type = array.dtype() == nb::dtype<float>() ? BASALT_FLOAT : BASALT_DOUBLE;
    if (made.type == BASALT_DOUBLE && array.dtype() != nb::dtype<double>()) {
        throw basalt::UsageError("an array of another type; allowed are float32 and float64");
    }
    made.place = place_of_device(array.device_type(), array.device_id());
    return made;
}

}  // namespace basalt_python
