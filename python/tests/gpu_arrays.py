"""A library of arrays in the memory of GPU 1, for runtimes with two emulated ones: as CuPy's, or as PyTorch's.

Its present GPU is 0; arrays are made, and may be waited for, on GPU 1 alone.
"""

import ctypes
import types

import numpy as np

_CUDA, _HOME = 2, 1
_get_name = ctypes.pythonapi.PyCapsule_GetName
_get_name.restype, _get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class Array:
    """A NumPy array that says of itself that a GPU has it."""

    def __init__(self, array):
        self.array = array

    shape = property(lambda self: self.array.shape)
    dtype = property(lambda self: self.array.dtype)
    T = property(lambda self: type(self)(self.array.T))

    def reshape(self, *shape):
        return type(self)(self.array.reshape(*shape))

    def __dlpack_device__(self):
        return _CUDA, _HOME

    def __dlpack__(self, **options):
        options.pop("stream", None)
        capsule = self.array.__dlpack__(**options)
        name = _get_name(capsule)
        # of a versioned tensor four words come before the address, and the device's type comes behind it
        before = 32 if name.endswith(b"versioned") else 0
        device = _get_pointer(capsule, name) + before + 8
        ctypes.c_int32.from_address(device).value = _CUDA
        ctypes.c_int32.from_address(device + 4).value = _HOME
        return capsule


class _Device:
    """CuPy's device, and PyTorch's context."""

    present = 0
    waited_for = []

    def __init__(self, number):
        self.number = number

    def __enter__(self):
        self.before, _Device.present = _Device.present, self.number

    def __exit__(self, *error):
        _Device.present = self.before

    def synchronize(self):
        _Device.waited_for.append(self.number)


def _empty_like(array):
    """What was in the memory before is no part of a result."""
    return np.full_like(array, np.nan)


def _made(array):
    assert _Device.present == _HOME
    return array


def waited_for():
    """The GPUs that were waited for since the last call."""
    numbers, _Device.waited_for = set(_Device.waited_for), []
    return numbers


class LikeCuPy(Array):
    flags = property(lambda self: self.array.flags)

    def __array_namespace__(self):
        return types.SimpleNamespace(ascontiguousarray=lambda a: _made(LikeCuPy(np.ascontiguousarray(a.array))),
                                     zeros_like=lambda a: _made(LikeCuPy(np.zeros_like(a.array))),
                                     empty_like=lambda a: _made(LikeCuPy(_empty_like(a.array))),
                                     cuda=types.SimpleNamespace(Device=_Device))


class LikePyTorch(Array):
    def is_contiguous(self):
        return self.array.flags.c_contiguous

    def contiguous(self):
        return LikePyTorch(np.ascontiguousarray(self.array))

    def __array_namespace__(self):
        cuda = types.SimpleNamespace(device=_Device, synchronize=lambda number: _Device(number).synchronize())
        return types.SimpleNamespace(zeros_like=lambda a: _made(LikePyTorch(np.zeros_like(a.array))),
                                     empty_like=lambda a: _made(LikePyTorch(_empty_like(a.array))), cuda=cuda)
