"""Arrays of other libraries, through DLPack: results are arrays of the same library in the same memory."""

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


class _Foreign:
    def __init__(self, arrays, first):
        self._arrays = arrays
        self._library = _library(first)
        device = first.__dlpack_device__()
        self._on_gpu = int(device[0]) in (_CUDA, _CUDA_MANAGED)
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
        if method is not None and (kind != "gen" or any("float64" not in str(each.dtype) for each in self._arrays)):
            raise TypeError("method 'mixed' for arrays on GPUs: allowed are float64 and assume_a 'gen'")
        if kind not in ("gen", "pos"):
            raise TypeError(f"assume_a for arrays on GPUs: allowed are 'gen' and 'pos'")
        a, b = self._arrays
        vector = len(b.shape) == 1
        # Rows of memory are columns: A in C order is A^T in Fortran order, which the GPU loads as it is.
        right = b.reshape(b.shape[0], 1) if vector else b
        rows = self._copy(right.T)  # nrhs x n in C order: its memory is B in columns
        which = 0 if kind == "gen" else 1 if not lower else 2  # of the transposed matrix
        self._synchronize()
        if method == "mixed":
            info = _basalt.solve_mixed(core, self._copy(a).T, rows.T, rows.T, False, not transposed)
        else:
            info, _ = _basalt.solve(core, self._copy(a).T, rows.T, rows.T, which, not transposed)
        if info > 0:
            raise LinAlgError(f"the matrix is singular or not positive definite (INFO {info})")
        return rows.reshape(b.shape[0]) if vector else rows.T

    def lu_factor(self, core):
        from . import linalg

        if not self._on_gpu:
            lu, pivots = linalg.lu_factor(np.from_dlpack(self._arrays[0]), runtime=_Holder(core))
            return self._from_numpy(lu), self._from_numpy(pivots)
        columns = self._copy(self._arrays[0].T)  # in C order: its memory is A in columns
        pivots = np.empty(min(columns.shape), np.int64)
        self._synchronize()
        _basalt.lu_factor(core, columns.T, columns.T, pivots)
        return columns.T, pivots.astype(np.int32)

    def cholesky(self, core, lower):
        from . import linalg

        if not self._on_gpu:
            return self._from_numpy(linalg.cholesky(np.from_dlpack(self._arrays[0]), lower, runtime=_Holder(core)))
        columns = self._copy(self._arrays[0].T)
        self._synchronize()
        info = _basalt.cholesky(core, columns.T, columns.T, bool(lower))
        if info > 0:
            raise LinAlgError(f"the leading minor of order {info} of the matrix is not positive definite")
        return self._library.tril(columns.T) if lower else self._library.triu(columns.T)

    def _from_numpy(self, array):
        return self._library.from_dlpack(array)

    def _copy(self, array):
        """A copy in C order, in the same memory."""
        if hasattr(array, "contiguous"):  # PyTorch
            return array.contiguous().clone()
        return self._library.ascontiguousarray(array) + 0

    def _synchronize(self):
        """What was computed on streams of the library's own is complete."""
        cuda = getattr(self._library, "cuda", None)
        if hasattr(cuda, "synchronize"):  # PyTorch
            cuda.synchronize()
        elif hasattr(cuda, "Device"):  # CuPy
            cuda.Device().synchronize()


class _Holder:
    """A runtime as basalt.linalg takes it."""

    def __init__(self, core):
        self._core = core
