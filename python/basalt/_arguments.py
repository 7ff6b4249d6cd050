"""What the functions of `basalt.linalg` do with their arguments before the library sees them."""

import math

import numpy as np

_DOUBLE, _SINGLE = np.dtype(np.float64), np.dtype(np.float32)


def real_array(array, name, check_finite):
    """`array` as an ndarray of float64 or float32, without a copy where there is no need.

    Integers and bool become float64, as in NumPy, and float16 becomes float32.
    """
    if type(array) is not np.ndarray:
        array = np.asarray(array)
    dtype = array.dtype
    if dtype != _DOUBLE and dtype != _SINGLE:
        array = _promoted(array, name)
    elif not (dtype.isnative and array.flags.aligned):
        array = array.astype(dtype.newbyteorder("="))
    if check_finite and array.size and not _finite(array):
        raise ValueError(f"{name} contains infs or NaNs; allowed are finite numbers, or check_finite=False")
    return array


def _promoted(array, name):
    kind = array.dtype.kind
    if kind == "c":
        raise TypeError(f"{name} is complex; complex matrices are not supported yet")
    if kind in "biu":
        return array.astype(np.float64)
    if kind == "f" and array.dtype.itemsize <= 8:
        return array.astype(np.float32 if array.dtype.itemsize < 4 else array.dtype.newbyteorder("="))
    raise TypeError(f"{name} has dtype {array.dtype}; allowed are real numbers of at most 64 bits")


def _finite(array):
    """The sum tells in one pass, unless it overflows. For few elements, one pass more costs less than errstate."""
    if array.size < 10_000:
        return np.isfinite(array).all()
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(array.sum()) or bool(np.isfinite(array).all())


def plain(array):
    """The array, or a copy where its strides are not ascending multiples of an element."""
    size = array.itemsize
    for stride, length in zip(array.strides, array.shape):
        if length > 1 and (stride <= 0 or stride % size):
            return array.copy()
    return array


def same_type(a, b):
    """Both arrays in the type that holds both."""
    if a.dtype == b.dtype:
        return a, b
    return a.astype(_DOUBLE, copy=False), b.astype(_DOUBLE, copy=False)


def square(a, name="a"):
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"{name} has shape {a.shape}; allowed is a square matrix")


def columns(b):
    """`b` as a matrix: a vector is one column."""
    return b if b.ndim == 2 else b[:, None]


def target(a, overwrite):
    """Where a result of the shape and type of `a` goes: into `a` itself if it may be overwritten and is in Fortran
    order, otherwise into a new array in that order."""
    if overwrite and a.flags.f_contiguous and a.flags.writeable:
        return a
    return np.empty(a.shape, a.dtype, order="F")


def over_batches(function, core, arrays, results):
    """function(*arrays) for each index of the leading dimensions, which are broadcast against each other.

    `core`: how many of each array's last dimensions the function takes. Its results are stacked; `results` says how
    many there are.
    """
    leading = np.broadcast_shapes(*(a.shape[: a.ndim - k] for a, k in zip(arrays, core)))
    arrays = [np.broadcast_to(a, leading + a.shape[a.ndim - k :]) for a, k in zip(arrays, core)]
    found = None
    for index in np.ndindex(*leading):
        one = function(*(a[index] for a in arrays))
        one = one if results > 1 else (one,)
        if found is None:
            found = [np.empty(leading + np.shape(value), np.asarray(value).dtype) for value in one]
        for stack, value in zip(found, one):
            stack[index] = value
    if found is None:  # a leading dimension is 0: shapes and types are those of a matrix of ones
        one = function(*(np.eye(*a.shape[a.ndim - k :], dtype=a.dtype) if k == 2 else
                         np.ones(a.shape[a.ndim - k :], a.dtype) for a, k in zip(arrays, core)))
        one = one if results > 1 else (one,)
        found = [np.empty(leading + np.shape(value), np.asarray(value).dtype) for value in one]
    return found if results > 1 else found[0]
