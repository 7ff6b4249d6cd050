"""Linear algebra with the names, arguments and results of `scipy.linalg`.

Matrices are real: float64, float32, or what becomes float64 (integers). Leading dimensions are batches, as in NumPy.
Each function takes a ``runtime``, which is `basalt.default_runtime()` if none is given. During a call the GIL is
released. Ctrl-C cancels a long one.
"""

import warnings

import numpy as np

from . import _basalt
from ._arguments import columns, over_batches, plain, real_array, same_type, square, target
from ._dlpack import foreign
from ._errors import LinAlgError, LinAlgWarning
from ._runtime import default_runtime

__all__ = ["LinAlgError", "LinAlgWarning", "cho_factor", "cho_solve", "cholesky", "det", "inv", "lstsq", "lu_factor",
           "lu_solve", "qr", "solve"]

_GENERAL, _POSITIVE_LOWER, _POSITIVE_UPPER = 0, 1, 2
_KINDS = {None: "gen", "gen": "gen", "general": "gen", "pos": "pos", "positive definite": "pos", "sym": "sym",
          "symmetric": "sym", "her": "sym", "hermitian": "sym", "diagonal": "diagonal", "tridiagonal": "tridiagonal",
          "banded": "gen", "lower triangular": "lower", "upper triangular": "upper"}


def _core(runtime):
    return (runtime if runtime is not None else default_runtime())._core


def _warn_if_ill_conditioned(rcond, dtype, depth=4):
    if not rcond >= np.finfo(dtype).eps:
        warnings.warn(f"the matrix is ill-conditioned (rcond = {rcond:.3g}): the result may have no correct digit",
                      LinAlgWarning, stacklevel=depth)


def _not_positive(info):
    return LinAlgError(f"the leading minor of order {info} of the matrix is not positive definite")


def _mirrored(a, lower):
    """The symmetric matrix of which one triangle is given."""
    half = np.tril(a) if lower else np.triu(a)
    full = half + half.T
    np.einsum("ii->i", full)[:] = np.einsum("ii->i", a)
    return full


def _part(a, kind, lower):
    """The matrix that `a` stands for: some kinds read a part of it alone."""
    if kind == "sym":
        return _mirrored(a, lower)
    if kind == "lower":
        return np.tril(a)
    if kind == "upper":
        return np.triu(a)
    if kind == "diagonal":
        return np.diag(np.diag(a))
    if kind == "tridiagonal":
        return np.tril(np.triu(a, -1), 1)
    return a


def solve(a, b, lower=False, overwrite_a=False, overwrite_b=False, check_finite=True, assume_a=None, transposed=False,
          *, method=None, runtime=None):
    """Solve ``a @ x == b`` for a square `a`.

    Parameters
    ----------
    a : (..., N, N) array_like
    b : (N,) or (..., N, NRHS) array_like
    lower : bool, optional
        Which triangle of a symmetric or positive definite `a` is read.
    overwrite_a : bool, optional
        `a` may be overwritten. It never is, because no copy of it is needed.
    overwrite_b : bool, optional
        The solution may be written to the memory of `b`. It is if `b` is in Fortran order.
    check_finite : bool, optional
        Refuse infs and NaNs.
    assume_a : str, optional
        "gen" (the default), "sym", "pos", "diagonal", "tridiagonal", "banded", "lower triangular" or "upper
        triangular". Unlike SciPy, None means "gen": the structure is not looked for.
    transposed : bool, optional
        Solve ``a.T @ x == b``.
    method : str, optional
        None: by factors in the precision of the matrix. "mixed": a float64 system by factors of lower precision, and
        refinement to what factors in double would give; where that fails, by factors in double. There is no warning
        for ill-conditioned matrices then.
    runtime : basalt.Runtime, optional

    Returns
    -------
    ndarray
        Of the shape of `b`, in Fortran order.

    Raises
    ------
    LinAlgError
        `a` is singular, or not positive definite with ``assume_a="pos"``.
    ValueError
        For shapes that do not fit.

    Warns
    -----
    LinAlgWarning
        `a` is so ill-conditioned that the solution may have no correct digit.

    Examples
    --------
    >>> import basalt.linalg
    >>> basalt.linalg.solve([[2.0, 1.0], [1.0, 3.0]], [5.0, 10.0])
    array([1., 3.])
    """
    if method not in (None, "mixed"):
        raise ValueError(f"method is {method!r}; allowed are None and 'mixed'")
    if assume_a not in _KINDS:
        raise ValueError(f"assume_a is {assume_a!r}; allowed are {', '.join(repr(kind) for kind in _KINDS)}")
    borrowed = foreign(a, b)
    if borrowed is not None:
        return borrowed.solve(_core(runtime), _KINDS[assume_a], lower, transposed, method)
    a, b = same_type(real_array(a, "a", check_finite), real_array(b, "b", check_finite))
    if a.ndim > 2 or b.ndim > 2:
        return over_batches(lambda a, b: solve(a, b, lower, check_finite=False, assume_a=assume_a,
                                               transposed=transposed, method=method, runtime=runtime),
                            (2, min(b.ndim, 2)), (a, b), 1)
    square(a)
    if method == "mixed" and a.dtype != np.float64:
        raise ValueError(f"a has dtype {a.dtype} and method is 'mixed'; allowed is float64, for factors of lower "
                         "precision")
    if b.ndim == 0 or b.shape[0] != a.shape[0]:
        raise ValueError(f"b has shape {b.shape}; allowed are {a.shape[0]} rows, as a has")
    kind = _KINDS[assume_a]
    x = target(b, overwrite_b)
    if method == "mixed":
        full = _mirrored(a, lower) if kind == "pos" else _part(a, kind, lower)
        _solve_mixed_into(runtime, full, b, x, kind == "pos", transposed)
    elif kind == "pos":
        _solve_into(runtime, a, b, x, _POSITIVE_LOWER if lower else _POSITIVE_UPPER, False)
    else:
        _solve_into(runtime, _part(a, kind, lower), b, x, _GENERAL, transposed)
    return x


def _solve_into(runtime, a, b, x, kind, transposed):
    if a.size == 0 or b.size == 0:
        return
    info, rcond = _basalt.solve(_core(runtime), plain(a), columns(plain(b)), columns(x), kind, transposed, True)
    _require_success(info, kind != _GENERAL)
    _warn_if_ill_conditioned(rcond, a.dtype)


def _solve_mixed_into(runtime, a, b, x, positive, transposed):
    if a.size == 0 or b.size == 0:
        return
    info = _basalt.solve_mixed(_core(runtime), plain(a), columns(plain(b)), columns(x), positive, transposed)
    _require_success(info, positive)


def _require_success(info, positive):
    if info > 0:
        raise _not_positive(info) if positive \
            else LinAlgError(f"the matrix is singular: U[{info - 1}, {info - 1}] is zero")


def inv(a, overwrite_a=False, check_finite=True, *, runtime=None):
    """The inverse of a square matrix.

    Parameters
    ----------
    a : (..., N, N) array_like
    overwrite_a, check_finite, runtime
        As for `solve`.

    Raises
    ------
    LinAlgError
        `a` is singular.

    Examples
    --------
    >>> import basalt.linalg
    >>> basalt.linalg.inv([[2.0, 0.0], [0.0, 4.0]])
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    a = real_array(a, "a", check_finite)
    if a.ndim > 2:
        return over_batches(lambda a: inv(a, check_finite=False, runtime=runtime), (2,), (a,), 1)
    square(a)
    result = np.eye(a.shape[0], dtype=a.dtype, order="F")
    _solve_into(runtime, a, result, result, _GENERAL, False)
    return result


def det(a, overwrite_a=False, check_finite=True, *, runtime=None):
    """The determinant of a square matrix.

    Examples
    --------
    >>> import basalt.linalg
    >>> float(basalt.linalg.det([[1.0, 2.0], [3.0, 4.0]]))
    -2.0
    """
    a = real_array(a, "a", check_finite)
    if a.ndim > 2:
        return over_batches(lambda a: det(a, check_finite=False, runtime=runtime), (2,), (a,), 1)
    square(a)
    if a.size == 0:
        return a.dtype.type(1)
    diagonal, pivots = np.empty(a.shape[0]), np.empty(a.shape[0], np.int64)
    _basalt.lu_diagonal(_core(runtime), plain(a), diagonal, pivots)
    exchanges = np.count_nonzero(pivots != np.arange(len(pivots)))
    with np.errstate(over="ignore", under="ignore"):
        return a.dtype.type((-1 if exchanges % 2 else 1) * np.prod(diagonal))


def lu_factor(a, overwrite_a=False, check_finite=True, *, runtime=None):
    """Factor ``a == P @ L @ U`` with partial pivoting.

    Parameters
    ----------
    a : (..., M, N) array_like
    overwrite_a : bool, optional
        The factors may go to the memory of `a`. They do if it is in Fortran order.
    check_finite, runtime
        As for `solve`.

    Returns
    -------
    lu : (..., M, N) ndarray
        U on and above the diagonal, L below it.
    piv : (..., K) ndarray
        Row k was exchanged with row piv[k], K = min(M, N).

    Warns
    -----
    LinAlgWarning
        A number on the diagonal of U is exactly zero.

    Examples
    --------
    >>> import basalt.linalg
    >>> lu, piv = basalt.linalg.lu_factor([[0.0, 2.0], [4.0, 1.0]])
    >>> lu
    array([[4., 1.],
           [0., 2.]])
    >>> basalt.linalg.lu_solve((lu, piv), [2.0, 5.0])
    array([1., 1.])
    """
    borrowed = foreign(a)
    if borrowed is not None:
        return borrowed.lu_factor(_core(runtime))
    a = real_array(a, "a", check_finite)
    if a.ndim > 2:
        return tuple(over_batches(lambda a: lu_factor(a, check_finite=False, runtime=runtime), (2,), (a,), 2))
    if a.ndim != 2:
        raise ValueError(f"a has {a.ndim} dimensions; allowed are 2 or more")
    lu = target(a, overwrite_a)
    pivots = np.empty(min(a.shape), np.int64)
    if a.size:
        info = _basalt.lu_factor(_core(runtime), plain(a), lu, pivots)
        if info > 0:
            warnings.warn(f"the matrix is singular: U[{info - 1}, {info - 1}] is zero", LinAlgWarning, stacklevel=2)
    return lu, pivots.astype(np.int32)


def lu_solve(lu_and_piv, b, trans=0, overwrite_b=False, check_finite=True, *, runtime=None):
    """Solve ``a @ x == b`` with the factors of `lu_factor`, SciPy's or ours.

    Parameters
    ----------
    lu_and_piv : tuple
    b : (N,) or (..., N, NRHS) array_like
    trans : {0, 1, 2}, optional
        1 and 2: ``a.T @ x == b``.
    overwrite_b, check_finite, runtime
        As for `solve`.
    """
    lu, pivots = lu_and_piv
    lu, b = same_type(real_array(lu, "lu", check_finite), real_array(b, "b", check_finite))
    pivots = np.asarray(pivots)
    if trans not in (0, 1, 2):
        raise ValueError(f"trans is {trans!r}; allowed are 0, 1 and 2")
    if lu.ndim > 2 or b.ndim > 2:
        return over_batches(lambda lu, pivots, b: lu_solve((lu, pivots), b, trans, check_finite=False, runtime=runtime),
                            (2, 1, min(b.ndim, 2)), (lu, pivots, b), 1)
    square(lu, "lu")
    x = _right_hand_side(lu, b, overwrite_b)
    if pivots.shape != (lu.shape[0],) or pivots.dtype.kind not in "iu":
        raise ValueError(f"piv has shape {pivots.shape} and dtype {pivots.dtype}; allowed are {lu.shape[0]} integers")
    if x.size:
        _basalt.lu_solve(_core(runtime), _in_columns(lu), np.ascontiguousarray(pivots, np.int64), columns(x),
                         trans != 0)
    return x


def _in_columns(a):
    return np.asfortranarray(a)


def _right_hand_side(a, b, overwrite):
    """A copy of b in Fortran order that becomes the solution, or b itself."""
    if b.ndim == 0 or b.shape[0] != a.shape[0]:
        raise ValueError(f"b has shape {b.shape}; allowed are {a.shape[0]} rows, as the factors have")
    x = target(b, overwrite)
    if x is not b:
        x[...] = b
    return x


def cho_factor(a, lower=False, overwrite_a=False, check_finite=True, *, runtime=None):
    """Factor a symmetric positive definite matrix for `cho_solve`.

    Returns
    -------
    c : (..., N, N) ndarray
        The factor in one triangle; the other one holds what `a` held.
    lower : bool

    Raises
    ------
    LinAlgError
        `a` is not positive definite.

    Examples
    --------
    >>> import basalt.linalg
    >>> c = basalt.linalg.cho_factor([[4.0, 2.0], [2.0, 3.0]])
    >>> basalt.linalg.cho_solve(c, [8.0, 7.0])
    array([1.25, 1.5 ])
    """
    a = real_array(a, "a", check_finite)
    if a.ndim > 2:
        return over_batches(lambda a: cho_factor(a, lower, check_finite=False, runtime=runtime)[0], (2,), (a,), 1), lower
    square(a)
    c = target(a, overwrite_a)
    if c is not a:
        c[...] = a
    _cholesky_into(runtime, c, c, lower)
    return c, lower


def _cholesky_into(runtime, a, c, lower):
    if a.size == 0:
        return
    info = _basalt.cholesky(_core(runtime), a, c, bool(lower))
    if info > 0:
        raise _not_positive(info)


def cholesky(a, lower=False, overwrite_a=False, check_finite=True, *, runtime=None):
    """The Cholesky factor of a symmetric positive definite matrix: upper, or lower with ``lower=True``.

    Raises
    ------
    LinAlgError
        `a` is not positive definite.

    Examples
    --------
    >>> import basalt.linalg
    >>> basalt.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]], lower=True)
    array([[2., 0.],
           [1., 2.]])
    """
    borrowed = foreign(a)
    if borrowed is not None:
        return borrowed.cholesky(_core(runtime), lower)
    a = real_array(a, "a", check_finite)
    if a.ndim > 2:
        return over_batches(lambda a: cholesky(a, lower, check_finite=False, runtime=runtime), (2,), (a,), 1)
    square(a)
    c = np.zeros(a.shape, a.dtype, order="F")
    _cholesky_into(runtime, _unit_stride(a), c, lower)
    return c


def _unit_stride(a):
    """Triangles are read from arrays whose elements follow each other in rows or in columns."""
    a = plain(a)
    return a if a.itemsize in a.strides or a.size <= 1 else a.copy()


def cho_solve(c_and_lower, b, overwrite_b=False, check_finite=True, *, runtime=None):
    """Solve ``a @ x == b`` with the factor of `cho_factor`, SciPy's or ours.

    Parameters
    ----------
    c_and_lower : tuple
    b : (N,) or (..., N, NRHS) array_like
    overwrite_b, check_finite, runtime
        As for `solve`.
    """
    c, lower = c_and_lower
    c, b = same_type(real_array(c, "c", check_finite), real_array(b, "b", check_finite))
    if c.ndim > 2 or b.ndim > 2:
        return over_batches(lambda c, b: cho_solve((c, lower), b, check_finite=False, runtime=runtime),
                            (2, min(b.ndim, 2)), (c, b), 1)
    square(c, "c")
    x = _right_hand_side(c, b, overwrite_b)
    if x.size:
        _basalt.cholesky_solve(_core(runtime), _in_columns(c), bool(lower), columns(x))
    return x


def qr(a, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True, *, runtime=None):
    """Factor ``a == Q @ R``.

    Parameters
    ----------
    a : (..., M, N) array_like
    mode : {"full", "r", "economic", "raw"}, optional
        What is returned: (Q, R) with a square Q; (R,); (Q, R) with min(M, N) columns of Q; ((qr, tau), R).
    pivoting : bool, optional
        False: exchanging columns is not supported yet.
    lwork
        Ignored.
    overwrite_a, check_finite, runtime
        As for `lu_factor`.

    Examples
    --------
    >>> import basalt.linalg
    >>> import numpy as np
    >>> a = np.array([[3.0, 1.0], [4.0, 2.0]])
    >>> q, r = basalt.linalg.qr(a)
    >>> np.allclose(q @ r, a), np.allclose(q.T @ q, np.eye(2))
    (True, True)
    """
    if mode not in ("full", "r", "economic", "raw"):
        raise ValueError(f"mode is {mode!r}; allowed are 'full', 'r', 'economic' and 'raw'")
    if pivoting:
        raise NotImplementedError("pivoting=True: exchanging columns is not supported yet")
    a = real_array(a, "a", check_finite)
    if a.ndim > 2:
        return _qr_of_batch(a, mode, runtime)
    if a.ndim != 2:
        raise ValueError(f"a has {a.ndim} dimensions; allowed are 2 or more")
    m, n = a.shape
    k = min(m, n)
    factors = target(a, overwrite_a)
    tau = np.zeros(k, a.dtype)
    q = np.zeros((m, m if mode == "full" else k), a.dtype, order="F") if mode in ("full", "economic") else None
    if a.size:
        _basalt.qr(_core(runtime), plain(a), factors, tau, q)
    elif q is not None:
        np.fill_diagonal(q, 1)
    r = np.triu(factors if mode in ("full", "r") else factors[:k])
    if mode == "raw":
        return (factors, tau), r
    return (r,) if q is None else (q, r)


def _qr_of_batch(a, mode, runtime):
    def one(a):
        found = qr(a, mode=mode, check_finite=False, runtime=runtime)
        return (*found[0], found[1]) if mode == "raw" else found[0] if mode == "r" else found

    found = over_batches(one, (2,), (a,), {"raw": 3, "r": 1}.get(mode, 2))
    if mode == "raw":
        return (found[0], found[1]), found[2]
    return (found,) if mode == "r" else tuple(found)


def lstsq(a, b, cond=None, overwrite_a=False, overwrite_b=False, check_finite=True, lapack_driver=None, *,
          runtime=None):
    """The x that minimises ``norm(a @ x - b)``; of several, the one of least norm.

    Parameters
    ----------
    a : (M, N) array_like
    b : (M,) or (M, K) array_like
    cond : float, optional
        Singular values below ``cond`` times the largest one count as zero. By default the roundoff.
    lapack_driver
        Ignored: a matrix of full rank is solved by QR. One that QR finds to be of lower rank, within `cond`, is left
        to `numpy.linalg.lstsq`, which uses singular values.
    overwrite_a, overwrite_b, check_finite, runtime
        As for `solve`.

    Returns
    -------
    x : (N,) or (N, K) ndarray
    residues : (K,) ndarray or float
        Sums of squares of the residual for each column of b; empty where M <= N or the rank is lower.
    rank : int
    s : ndarray or None
        Singular values; None where they were not needed.

    Examples
    --------
    >>> import basalt.linalg
    >>> import numpy as np
    >>> x, residues, rank, s = basalt.linalg.lstsq([[1.0, 0], [1, 1], [1, 2]], [1.0, 2, 3])
    >>> np.allclose(x, [1, 1]), rank
    (True, 2)
    """
    a, b = same_type(real_array(a, "a", check_finite), real_array(b, "b", check_finite))
    if a.ndim != 2 or b.ndim not in (1, 2):
        raise ValueError(f"a has {a.ndim} dimensions and b {b.ndim}; allowed are 2, and 1 or 2")
    (m, n), right = a.shape, columns(b)
    if b.shape[0] != m:
        raise ValueError(f"b has shape {b.shape}; allowed are {m} rows, as a has")
    if m == 0 or n == 0:
        residues = np.einsum("ij,ij->j", right, right) if n == 0 and m > 0 else np.empty(0, a.dtype)
        return np.zeros((n,) + b.shape[1:], a.dtype), residues, 0, np.empty(0, a.dtype)
    x = np.empty((max(m, n), right.shape[1]), a.dtype, order="F")
    x[:m] = right
    x[m:] = 0
    info, rcond = _basalt.least_squares(_core(runtime), plain(a), x)
    least = np.finfo(a.dtype).eps if cond is None else float(cond)
    if info > 0 or not rcond > least:
        return _lstsq_by_singular_values(a, b, least)
    residues = np.einsum("ij,ij->j", x[n:], x[n:]) if m > n else np.empty(0, a.dtype)
    solution = x[:n] if b.ndim == 2 else x[:n, 0]
    return solution, residues if b.ndim == 2 or m <= n else residues[0], min(m, n), None


def _lstsq_by_singular_values(a, b, cond):
    x, residues, rank, s = np.linalg.lstsq(a, b, rcond=cond)
    if rank < a.shape[1] or a.shape[0] <= a.shape[1]:
        residues = np.empty(0, a.dtype)
    elif b.ndim == 1:
        residues = residues[0]
    return x, residues, int(rank), s
