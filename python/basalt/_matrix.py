"""Matrices that stay in the runtime."""

import numpy as np

from . import _basalt
from ._runtime import default_runtime

_TYPES = {np.dtype(np.float32): 0, np.dtype(np.float64): 1}


class Matrix:
    """A matrix in the runtime's own layout, in the memory of the host or of GPUs.

    Parameters
    ----------
    array : array_like
        Copied. Of float32 or float64; other real types become float64.
    runtime : Runtime, optional
        By default `default_runtime()`.

    Examples
    --------
    >>> import basalt
    >>> import numpy as np
    >>> a = basalt.Matrix([[2.0, 1.0], [1.0, 3.0]])
    >>> b = basalt.Matrix([[5.0], [10.0]])
    >>> factors = a.lu()          # a holds the factors now
    >>> factors.solve(b)
    >>> b.numpy()
    array([[1.],
           [3.]])
    >>> factors.info
    0
    """

    def __init__(self, array, runtime=None):
        array = np.asarray(array)
        if array.ndim != 2:
            raise ValueError(f"array has {array.ndim} dimensions; allowed are 2")
        if array.dtype.kind == "c":
            raise TypeError("array is complex; complex matrices are not supported yet")
        if array.dtype not in _TYPES:
            array = array.astype(np.float64)
        self._make(array.shape, array.dtype, runtime)
        self._core.load(self.runtime._core, array)

    def _make(self, shape, dtype, runtime):
        self.runtime = runtime if runtime is not None else default_runtime()
        self.shape = tuple(int(n) for n in shape)
        self.dtype = np.dtype(dtype)
        self._core = _basalt.Matrix(self.runtime._core, _TYPES[self.dtype], *self.shape)

    @classmethod
    def zeros(cls, shape, dtype=np.float64, runtime=None):
        """A matrix of zeros.

        Parameters
        ----------
        shape : tuple of int
        dtype : dtype, optional
            float32 or float64.
        runtime : Runtime, optional
        """
        made = cls.__new__(cls)
        if np.dtype(dtype) not in _TYPES:
            raise TypeError(f"dtype is {np.dtype(dtype)}; allowed are float32 and float64")
        made._make(shape, dtype, runtime)
        return made

    def numpy(self, out=None):
        """Wait for the runtime's tasks, and copy the matrix.

        Parameters
        ----------
        out : numpy.ndarray, optional
            An array of the matrix's shape and dtype that gets the copy.
        """
        if out is None:
            out = np.empty(self.shape, self.dtype, order="F")
        elif out.shape != self.shape or out.dtype != self.dtype:
            raise ValueError(f"out has shape {out.shape} and dtype {out.dtype}; "
                             f"allowed are {self.shape} and {self.dtype}")
        self._core.store(self.runtime._core, out)
        return out

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("a Matrix is in tiles, so an array of it is a copy")
        return self.numpy().astype(dtype or self.dtype, copy=False)

    def norm(self):
        """The infinity norm: the largest sum of magnitudes in a row."""
        return self._core.norm

    def lu(self):
        """Factor A = P L U in place. Returns `Factors` at once."""
        return Factors(self, self._core.factor("lu"))

    def cholesky(self, lower=True):
        """Factor a symmetric positive definite matrix in place, by its lower or upper triangle."""
        return Factors(self, self._core.factor("lower" if lower else "upper"))

    def qr(self):
        """Factor A = Q R in place."""
        return Factors(self, self._core.factor("qr"))

    def __repr__(self):
        return f"<basalt.Matrix {self.shape[0]} x {self.shape[1]}, {self.dtype}>"


class Factors:
    """A factorization in progress or done, made by `Matrix.lu`, `Matrix.cholesky` or `Matrix.qr`."""

    def __init__(self, matrix, core):
        self._matrix = matrix
        self._core = core

    @property
    def info(self):
        """LAPACK's INFO. Waits. 0, or k > 0 where the factorization broke down in column k, counted from 1."""
        return self._core.info

    @property
    def pivots(self):
        """Of LU: row k was exchanged with row pivots[k], counted from 0. Waits."""
        pivots = np.zeros(min(self._matrix.shape), np.int64)
        self._core.pivots(pivots)
        return pivots - 1

    def solve(self, b, transposed=False):
        """The Matrix `b` becomes the solution of A X = B, or of A.T X = B. Submits tasks and returns at once."""
        if not isinstance(b, Matrix):
            raise TypeError(f"b is of type {type(b).__name__}; allowed is a Matrix")
        self._core.solve(b._core, bool(transposed))

    def reciprocal_condition(self, norm):
        """An estimate of 1 / (norm(A) norm(inv(A))); `norm` is that of A before the factorization."""
        return self._core.reciprocal_condition(float(norm))

    def q(self, columns=None):
        """Of QR: the first columns of Q as a Matrix; min(shape) of them by default."""
        columns = min(self._matrix.shape) if columns is None else int(columns)
        made = Matrix.zeros((self._matrix.shape[0], columns), self._matrix.dtype, self._matrix.runtime)
        self._core.form_q(columns, made._core)
        return made
