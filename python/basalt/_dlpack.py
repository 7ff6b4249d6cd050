"""Arrays of other libraries, through DLPack: results are arrays of the same library in the same memory."""

import contextlib
import sys

import numpy as np

from . import _basalt
from ._errors import LinAlgError

_CPU, _CUDA, _CUDA_HOST, _CUDA_MANAGED = 1, 2, 3, 13


def foreign(*arrays):
    """What solves for arrays of another library; None where all are NumPy's, lists and numbers."""
    for array in arrays:
        if type(array) is not np.ndarray and not isinstance(array, np.ndarray) and hasattr(array, "__dlpack_device__"):
            return _Foreign(arrays, array)
    return None


def _library(array):
    """The module of an array: CuPy, PyTorch or any with from_dlpack()."""
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    return sys.modules[type(array).__module__.split(".")[0]]


def _dtype(array):
    """float64 and the like, whatever the library calls it."""
    return str(array.dtype).rpartition(".")[2]


def _in_c_order(array):
    return array.is_contiguous() if hasattr(array, "is_contiguous") else array.flags.c_contiguous


class _Foreign:
    def __init__(self, arrays, first):
        self._arrays = arrays
        self._library = _library(first)
        device = first.__dlpack_device__()
        self._on_gpu = int(device[0]) in (_CUDA, _CUDA_MANAGED)
        self._gpu = int(device[1])
        for k, array in enumerate(arrays):
            if not hasattr(array, "__dlpack_device__"):
                raise TypeError(f"argument {k} is of type {type(array).__name__}; allowed is an array of the same "
                                f"library as the other one, {type(first).__name__}")
            other = array.__dlpack_device__()
            if tuple(map(int, other)) != tuple(map(int, device)):
                raise ValueError(f"argument {k} is on device {tuple(map(int, other))} of DLPack's; allowed is that of "
                                 f"the other one, {tuple(map(int, device))}")

    def solve(self, core, kind, lower, transposed, method=None):
        from . import linalg

        if not self._on_gpu:
            views = [np.from_dlpack(array) for array in self._arrays]
            assume = {"lower": "lower triangular", "upper": "upper triangular"}.get(kind, kind)
            return self._from_numpy(linalg.solve(*views, lower, assume_a=assume, transposed=transposed, method=method,
                                                 runtime=_Holder(core)))
        with self._device():
            return self._solve_on_gpu(core, kind, lower, transposed, method)

    def _solve_on_gpu(self, core, kind, lower, transposed, method):
        if kind not in ("gen", "pos"):
            raise TypeError("assume_a for arrays on GPUs: allowed are 'gen' and 'pos'")
        a, b = self._arrays
        dtype = self._require_matrix(a, "a", square=True)
        if method is not None and (kind != "gen" or dtype != "float64"):
            raise TypeError("method 'mixed' for arrays on GPUs: allowed are float64 and assume_a 'gen'")
        if len(b.shape) not in (1, 2) or b.shape[0] != a.shape[0]:
            raise ValueError(f"b has shape {tuple(b.shape)}; allowed are a vector or a matrix with {a.shape[0]} rows, as "
                             "a has")
        if _dtype(b) != dtype:
            raise TypeError(f"b has dtype {_dtype(b)}; allowed is that of a, {dtype}")
        vector = len(b.shape) == 1
        # Rows of memory are columns: A in C order is A^T in Fortran order, which the GPU reads as it is.
        right = b.reshape(b.shape[0], 1) if vector else b
        columns = self._to_c_order(right.T)  # nrhs x n: its memory is B in columns
        a = self._to_c_order(a.T if method == "mixed" and not transposed else a)
        rows = self._library.zeros_like(columns)
        if 0 not in b.shape:
            which = 0 if kind == "gen" else 1 if not lower else 2  # of the transposed matrix
            self._synchronize()
            if method == "mixed":
                info = _basalt.solve_mixed(core, a.T, columns.T, rows.T, False, False)
            else:
                info, _ = _basalt.solve(core, a.T, columns.T, rows.T, which, not transposed, False)
            if info > 0:
                raise LinAlgError(f"the matrix is singular or not positive definite (INFO {info})")
        return rows.reshape(b.shape[0]) if vector else rows.T

    def lu_factor(self, core):
        from . import linalg

        if not self._on_gpu:
            lu, pivots = linalg.lu_factor(np.from_dlpack(self._arrays[0]), runtime=_Holder(core))
            return self._from_numpy(lu), self._from_numpy(pivots)
        with self._device():
            return self._lu_factor_on_gpu(core)

    def _lu_factor_on_gpu(self, core):
        a = self._arrays[0]
        self._require_matrix(a, "a", square=False)
        if _in_c_order(a) or _in_c_order(a.T):
            factors = self._library.empty_like(a)  # in the same order
        else:
            a = factors = self._to_c_order(a)
        pivots = np.zeros(min(a.shape), np.int64)
        if 0 not in a.shape:
            self._synchronize()
            _basalt.lu_factor(core, a, factors, pivots)
        return factors, pivots.astype(np.int32)

    def cholesky(self, core, lower):
        from . import linalg

        if not self._on_gpu:
            return self._from_numpy(linalg.cholesky(np.from_dlpack(self._arrays[0]), lower, runtime=_Holder(core)))
        with self._device():
            return self._cholesky_on_gpu(core, lower)

    def _cholesky_on_gpu(self, core, lower):
        a = self._arrays[0]
        self._require_matrix(a, "a", square=True)
        a = self._to_c_order(a)
        factor = self._library.empty_like(a)
        if 0 not in a.shape:
            self._synchronize()
            # the lower triangle in C order is the upper one in Fortran order
            info = _basalt.cholesky(core, a.T, factor.T, not lower)
            if info > 0:
                raise LinAlgError(f"the leading minor of order {info} of the matrix is not positive definite")
        return factor

    @staticmethod
    def _require_matrix(array, name, square):
        """Returns its type."""
        shape = tuple(array.shape)
        if len(shape) != 2 or square and shape[0] != shape[1]:
            raise ValueError(f"{name} has shape {shape}; allowed on GPUs is a {'square ' if square else ''}matrix")
        dtype = _dtype(array)
        if dtype not in ("float64", "float32"):
            raise TypeError(f"{name} has dtype {dtype}; allowed on GPUs are float64 and float32")
        return dtype

    def _from_numpy(self, array):
        return self._library.from_dlpack(array)

    def _to_c_order(self, array):
        """The array itself if it is in C order, otherwise a copy that is, in the same memory."""
        if _in_c_order(array):
            return array
        return array.contiguous() if hasattr(array, "contiguous") else self._library.ascontiguousarray(array)

    def _device(self):
        """A context in which the library's arrays are made on the GPU that has the given ones."""
        cuda = getattr(self._library, "cuda", None)
        if hasattr(cuda, "device") and hasattr(cuda, "synchronize"):  # PyTorch
            return cuda.device(self._gpu)
        if hasattr(cuda, "Device"):  # CuPy
            return cuda.Device(self._gpu)
        return contextlib.nullcontext()

    def _synchronize(self):
        """What was computed on that GPU, on streams of the library's own, is complete."""
        cuda = getattr(self._library, "cuda", None)
        if hasattr(cuda, "synchronize"):  # PyTorch
            cuda.synchronize(self._gpu)
        elif hasattr(cuda, "Device"):  # CuPy
            cuda.Device(self._gpu).synchronize()


class _Holder:
    """A runtime as basalt.linalg takes it."""

    def __init__(self, core):
        self._core = core
