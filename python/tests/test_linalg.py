"""basalt.linalg against scipy.linalg: values, errors, and every type and order of arrays."""

import warnings

import numpy as np
import pytest
import scipy.linalg as sl

import basalt
import basalt.linalg as bl
from gpu_arrays import LikeCuPy, LikePyTorch, waited_for

SIZES = [0, 1, 2, 7, 130]
TYPES = [np.float64, np.float32]
RUNTIME = basalt.Runtime(workers=2)


def tolerance(dtype):
    return 1e-10 if np.dtype(dtype) == np.float64 else 2e-3


def strided(a):
    """The same values in an array with gaps."""
    wide = np.full(tuple(2 * n for n in a.shape), np.nan, a.dtype)
    view = wide[tuple(slice(None, None, 2) for _ in a.shape)]
    view[...] = a
    return view


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


ORDERS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": strided,
    "reversed": lambda a: a[::-1].copy()[::-1],
    "read-only": read_only,
    "swapped": lambda a: a.astype(a.dtype.newbyteorder("S")),
    "list": lambda a: a.tolist() if a.size and a.dtype == np.float64 else a,
}


def general(n, dtype, m=None):
    rng = np.random.default_rng(n)
    a = rng.standard_normal((n if m is None else m, n)).astype(dtype)
    k = min(a.shape)
    a[range(k), range(k)] += 4
    return a


def positive(n, dtype):
    a = general(n, np.float64)
    return (a @ a.T + n * np.eye(n)).astype(dtype)


def right(n, dtype, columns):
    shape = (n,) if columns is None else (n, columns)
    return np.random.default_rng(5).standard_normal(shape).astype(dtype)


def close(ours, theirs, dtype):
    assert ours.shape == theirs.shape and ours.dtype == np.dtype(dtype)
    scale = np.abs(theirs).max(initial=1)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance(dtype) * scale)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("columns", [None, 0, 1, 3])
def test_solve_gives_scipys_solution(n, dtype, order, columns):
    a, b = general(n, dtype), right(n, dtype, columns)
    expected = np.linalg.solve(a, b)
    given_a, given_b = ORDERS[order](a), ORDERS[order](b)
    close(bl.solve(given_a, given_b, runtime=RUNTIME), expected, dtype)
    np.testing.assert_array_equal(np.asarray(given_a), a)
    np.testing.assert_array_equal(np.asarray(given_b), b)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", ["sym", "pos", "diagonal", "tridiagonal", "lower triangular", "upper triangular",
                                  "gen", None])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
def test_solve_reads_what_a_kind_of_matrix_has(kind, dtype, lower, transposed):
    n = 60
    a = positive(n, dtype) if kind in ("pos", "sym") else general(n, dtype) + 10 * np.eye(n, dtype=dtype)
    if kind in ("diagonal", "tridiagonal"):
        reach = 0 if kind == "diagonal" else 1
        a = np.tril(np.triu(a, -reach), reach)
    elif kind in ("lower triangular", "upper triangular"):
        a = np.tril(a) if kind == "lower triangular" else np.triu(a)
    b = right(n, dtype, 2)
    given = a.copy()
    if kind in ("pos", "sym"):  # the other triangle is not read
        given[np.triu_indices(n, 1) if lower else np.tril_indices(n, -1)] = 77
    expected = np.linalg.solve(a.T if transposed else a, b)
    close(bl.solve(given, b, lower=lower, assume_a=kind, transposed=transposed), expected, dtype)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (5, 5), (90, 40), (40, 90)])
def test_lu_factor_gives_lapacks_factors(shape, dtype, order):
    a = general(shape[1], dtype, shape[0])
    lu, pivots = bl.lu_factor(ORDERS[order](a), runtime=RUNTIME)
    assert pivots.shape == (min(shape),)
    lower, upper = np.tril(lu, -1)[:, : min(shape)] + np.eye(*shape, dtype=dtype)[:, : min(shape)], np.triu(lu)[: min(shape)]
    permuted = a.copy()
    for k, other in enumerate(pivots):
        permuted[[k, other]] = permuted[[other, k]]
    close(lower @ upper, permuted, dtype)
    if a.size:
        theirs, theirs_pivots = sl.lu_factor(a)
        np.testing.assert_array_equal(pivots, theirs_pivots)
        close(lu, theirs, dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("columns", [None, 1, 90])
@pytest.mark.parametrize("trans", [0, 1])
def test_lu_solve_takes_our_factors_and_scipys(n, dtype, columns, trans):
    a, b = general(n, dtype), right(n, dtype, columns)
    expected = np.linalg.solve(a.T if trans else a, b)
    close(bl.lu_solve(bl.lu_factor(a), b, trans), expected, dtype)
    if n > 0:
        close(bl.lu_solve(sl.lu_factor(a), b, trans), expected, dtype)
        close(np.asarray(sl.lu_solve(bl.lu_factor(a), b, trans)), expected, dtype)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("lower", [False, True])
def test_cholesky_gives_scipys_factor(n, dtype, order, lower):
    a = positive(n, dtype)
    expected = np.linalg.cholesky(a) if lower else np.linalg.cholesky(a).T
    close(bl.cholesky(ORDERS[order](a), lower=lower, runtime=RUNTIME), expected, dtype)
    c, is_lower = bl.cho_factor(ORDERS[order](a), lower=lower)
    assert is_lower == lower
    close(np.tril(c) if lower else np.triu(c), expected, dtype)
    b = right(n, dtype, 4)
    close(bl.cho_solve((c, lower), b), np.linalg.solve(a, b), dtype)
    close(bl.cho_solve((c, lower), b[:, 0]), np.linalg.solve(a, b)[:, 0], dtype)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", SIZES)
def test_inv_and_det_give_numpys(n, dtype, order):
    a = general(n, dtype)
    close(bl.inv(ORDERS[order](a), runtime=RUNTIME), np.linalg.inv(a), dtype)
    if n < 100:
        found, expected = bl.det(ORDERS[order](a)), np.linalg.det(a)
        assert abs(found - expected) <= tolerance(dtype) * abs(expected)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (6, 6), (90, 40), (40, 90)])
def test_qr_multiplies_to_the_matrix(shape, dtype, order):
    a = general(shape[1], dtype, shape[0])
    given = ORDERS[order](a)
    for mode in ("full", "economic"):
        q, r = bl.qr(given, mode=mode, runtime=RUNTIME)
        rows = shape[0] if mode == "full" else min(shape)
        assert q.shape == (shape[0], rows) and r.shape == (rows, shape[1])
        close(q @ r, a, dtype)
        close(q.T @ q, np.eye(rows, dtype=dtype), dtype)
        np.testing.assert_array_equal(r, np.triu(r))
    (only,) = bl.qr(given, mode="r")
    assert only.shape == shape
    (factors, tau), r = bl.qr(given, mode="raw")
    assert factors.shape == shape and tau.shape == (min(shape),)
    if a.size:  # LAPACK's form
        theirs_q, _ = sl.qr(a, mode="economic")
        close(np.abs(bl.qr(given, mode="economic")[0]), np.abs(theirs_q), dtype)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(1, 1), (6, 6), (90, 40), (40, 90)])
@pytest.mark.parametrize("columns", [None, 3])
def test_lstsq_gives_scipys_solution(shape, dtype, order, columns):
    a, b = general(shape[1], dtype, shape[0]), right(shape[0], dtype, columns)
    x, residues, rank, s = bl.lstsq(ORDERS[order](a), ORDERS[order](b), runtime=RUNTIME)
    expected = sl.lstsq(a, b)
    close(x, expected[0], dtype)
    assert rank == min(shape) and s is None
    close(np.asarray(residues), np.asarray(expected[1]), dtype)


def test_lstsq_of_lower_rank_has_least_norm():
    a = general(5, np.float64, 9)
    a[:, 4] = a[:, 0]
    b = right(9, np.float64, 2)
    x, residues, rank, s = bl.lstsq(a, b)
    expected = sl.lstsq(a, b)
    close(x, expected[0], np.float64)
    assert rank == 4 and len(s) == 5 and residues.size == 0
    assert bl.lstsq(np.zeros((3, 2)), np.ones(3))[2] == 0
    x, residues, rank, s = bl.lstsq(np.zeros((3, 0)), np.ones(3))
    assert x.shape == (0,) and rank == 0


@pytest.mark.parametrize("leading", [(3,), (2, 2), (0,)])
def test_leading_dimensions_are_batches(leading):
    a = np.array([positive(6, np.float64) + k * np.eye(6) for k in range(int(np.prod(leading)))]).reshape(*leading, 6, 6)
    b = np.random.default_rng(1).standard_normal((*leading, 6, 2))
    close(bl.solve(a, b), np.linalg.solve(a, b), np.float64)
    close(bl.solve(a, b[..., 0].reshape(-1, 6)[0] if b.size else np.ones(6)),
          np.linalg.solve(a, np.broadcast_to((b[..., 0].reshape(-1, 6)[0] if b.size else np.ones(6))[:, None],
                                             (*leading, 6, 1)))[..., 0], np.float64)
    close(bl.inv(a), np.linalg.inv(a), np.float64)
    close(np.asarray(bl.det(a)), np.linalg.det(a), np.float64)
    close(bl.cholesky(a, lower=True), np.linalg.cholesky(a), np.float64)
    close(bl.cho_solve(bl.cho_factor(a), b), np.linalg.solve(a, b), np.float64)
    close(bl.lu_solve(bl.lu_factor(a), b), np.linalg.solve(a, b), np.float64)
    q, r = bl.qr(a)
    close(q @ r, a, np.float64)
    assert bl.qr(a, mode="r")[0].shape == a.shape


def test_results_may_go_to_the_memory_of_arguments():
    a = np.asfortranarray(general(50, np.float64))
    lu, _ = bl.lu_factor(a, overwrite_a=True)
    assert lu is a
    b = np.asfortranarray(right(50, np.float64, 3))
    assert bl.lu_solve((lu, np.arange(50)), b, overwrite_b=True) is b
    c = np.asfortranarray(positive(50, np.float64))
    assert bl.cho_factor(c, overwrite_a=True)[0] is c
    b = right(50, np.float64, None)
    assert bl.solve(positive(50, np.float64), b, overwrite_b=True) is b
    kept = np.ascontiguousarray(general(50, np.float64))
    before = kept.copy()
    assert bl.lu_factor(kept, overwrite_a=True)[0] is not kept
    np.testing.assert_array_equal(kept, before)
    frozen = read_only(np.asfortranarray(before))
    assert bl.lu_factor(frozen, overwrite_a=True)[0] is not frozen


@pytest.mark.parametrize("dtype", ["i1", "i8", "u4", "?", "f2"])
def test_other_real_types_are_promoted(dtype):
    a = np.array([[2, 1], [1, 1]], dtype)
    a[1, 1] = 0
    expected = np.float32 if dtype == "f2" else np.float64
    x = bl.solve(a, np.array([3, 1], dtype))
    assert x.dtype == expected
    np.testing.assert_allclose(x, np.linalg.solve(a.astype(expected), np.array([3, 1], dtype).astype(expected)))
    assert bl.solve(np.eye(2, dtype=np.float32), np.ones(2)).dtype == np.float64


@pytest.mark.parametrize("n", SIZES + [300])
@pytest.mark.parametrize("columns", [None, 0, 1, 3])
@pytest.mark.parametrize("order", ["C", "F", "strided", "read-only", "swapped"])
def test_mixed_precision_solves_to_double(n, columns, order):
    a, b = ORDERS[order](general(n, np.float64)), right(n, np.float64, columns)
    for transposed in (False, True):
        x = bl.solve(a, b, transposed=transposed, method="mixed", runtime=RUNTIME)
        assert x.shape == b.shape and x.dtype == np.float64
        matrix = a.T if transposed else a
        if b.size:
            bound = n * np.finfo(float).eps * (np.linalg.norm(matrix, np.inf) * np.abs(x).max() + np.abs(b).max())
            assert np.abs(matrix @ x - b).max() <= bound


@pytest.mark.parametrize("lower", [False, True])
def test_mixed_precision_reads_one_triangle_of_a_positive_matrix(lower):
    full = positive(150, np.float64)
    half = np.tril(full) if lower else np.triu(full)
    half[(np.triu_indices if lower else np.tril_indices)(150, 1 if lower else -1)] = 1e300
    b = right(150, np.float64, 2)
    before = half.copy()
    x = bl.solve(half, b, lower, assume_a="pos", method="mixed", runtime=RUNTIME)
    np.testing.assert_allclose(x, sl.solve(full, b), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(half, before)


def test_mixed_precision_falls_back_and_tells_of_singular_matrices():
    hard = sl.hilbert(9) + 0.0
    x = bl.solve(hard, hard @ np.ones(9), method="mixed", runtime=RUNTIME)
    assert np.abs(hard @ x - hard @ np.ones(9)).max() < 1e-14
    singular = general(5, np.float64)
    singular[:, 3] = 0
    with pytest.raises(bl.LinAlgError, match=r"U\[3, 3\]"):
        bl.solve(singular, np.ones(5), method="mixed", runtime=RUNTIME)
    with pytest.raises(bl.LinAlgError, match="order 1 "):
        bl.solve(-np.eye(3), np.ones(3), assume_a="pos", method="mixed", runtime=RUNTIME)
    with pytest.raises(ValueError, match="float32"):
        bl.solve(np.eye(3, dtype=np.float32), np.ones(3, np.float32), method="mixed", runtime=RUNTIME)
    stack = np.stack([general(6, np.float64), 2 * general(6, np.float64)])
    np.testing.assert_allclose(bl.solve(stack, np.ones((2, 6, 1)), method="mixed", runtime=RUNTIME),
                               np.linalg.solve(stack, np.ones((2, 6, 1))), rtol=1e-11)


def test_bad_arguments_are_named():
    good = np.eye(3)
    for call, error, words in [
        (lambda: bl.solve(good * 1j, [1, 2, 3]), TypeError, "a is complex"),
        (lambda: bl.solve(good, np.ones(3, complex)), TypeError, "b is complex"),
        (lambda: bl.solve(np.array([["a"]]), [1]), TypeError, "a has dtype"),
        (lambda: bl.inv(np.eye(2, dtype=np.longdouble)), TypeError, "float128"),
        (lambda: bl.solve(np.ones((2, 3)), [1, 2]), ValueError, r"a has shape \(2, 3\)"),
        (lambda: bl.solve(np.ones(3), [1, 2, 3]), ValueError, r"a has shape \(3,\)"),
        (lambda: bl.solve(good, [1, 2]), ValueError, r"b has shape \(2,\)"),
        (lambda: bl.solve(good, [1, 2, 3], assume_a="odd"), ValueError, "assume_a is 'odd'"),
        (lambda: bl.solve(good, [1, 2, 3], method="mixture"), ValueError, "method is 'mixture'"),
        (lambda: bl.solve(np.array([[np.nan]]), [1]), ValueError, "a contains infs or NaNs"),
        (lambda: bl.solve([[1]], [np.inf]), ValueError, "b contains infs or NaNs"),
        (lambda: bl.lu_solve((good, [0, 1]), [1, 2, 3]), ValueError, "piv has shape"),
        (lambda: bl.lu_solve((good, [0, 1, 3]), [1, 2, 3]), ValueError, "pivots"),
        (lambda: bl.lu_solve((good, [0, 1, 2]), [1, 2, 3], trans=4), ValueError, "trans is 4"),
        (lambda: bl.qr(good, mode="fast"), ValueError, "mode is 'fast'"),
        (lambda: bl.qr(good, pivoting=True), NotImplementedError, "pivoting"),
        (lambda: bl.lstsq(good, [1, 2]), ValueError, "b has shape"),
        (lambda: basalt.Matrix(np.ones(3)), ValueError, "1 dimensions"),
        (lambda: basalt.Matrix.zeros((2, 2), int), TypeError, "int64"),
        (lambda: basalt.Runtime(colour="red"), TypeError, "'colour'"),
        (lambda: basalt.Runtime(workers=-3), ValueError, "'workers'"),
    ]:
        with pytest.raises(error, match=words):
            call()


def test_numerical_breakdown_is_scipys_error():
    singular = np.ones((3, 3))
    for call in (lambda: bl.solve(singular, [1, 2, 3]), lambda: bl.inv(singular)):
        with pytest.raises(np.linalg.LinAlgError, match="singular"):
            call()
    with pytest.raises(sl.LinAlgError, match="order 2"):
        bl.cholesky([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(bl.LinAlgError, match="positive definite"):
        bl.solve([[1.0, 2.0], [2.0, 1.0]], [1, 2], assume_a="pos")
    with pytest.warns(sl.LinAlgWarning, match="singular"):
        bl.lu_factor(singular)
    with pytest.warns(bl.LinAlgWarning, match="ill-conditioned"):
        bl.solve(sl.hilbert(15), np.ones(15))
    assert bl.det(singular) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bl.solve(np.eye(40) * 1e-20, np.ones(40))


def test_nan_without_check_is_no_hang():
    a = general(20, np.float64)
    a[3, 4] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isnan(bl.solve(a, np.ones(20), check_finite=False)).any()
        assert np.isnan(bl.lu_factor(a, check_finite=False)[0]).any()


def test_matrices_and_factors():
    a, b = positive(90, np.float64), right(90, np.float64, 2)
    for factor in (lambda m: m.lu(), lambda m: m.cholesky(), lambda m: m.cholesky(lower=False), lambda m: m.qr()):
        matrix, x = basalt.Matrix(a, RUNTIME), basalt.Matrix(b, RUNTIME)
        norm = matrix.norm()
        assert abs(norm - np.abs(a).sum(axis=1).max()) < 1e-9 * norm
        factors = factor(matrix)
        factors.solve(x)
        close(x.numpy(), np.linalg.solve(a, b), np.float64)
        assert factors.info == 0 and 0 < factors.reciprocal_condition(norm) <= 1
    q = basalt.Matrix(a, RUNTIME).qr().q()
    np.testing.assert_allclose(np.asarray(q).T @ np.asarray(q), np.eye(90), atol=1e-12)
    lu = basalt.Matrix(general(30, np.float32), RUNTIME).lu()
    np.testing.assert_array_equal(lu.pivots, sl.lu_factor(general(30, np.float32))[1])
    with pytest.raises(ValueError, match="b is a matrix of double"):
        lu.solve(basalt.Matrix(np.ones((30, 1)), RUNTIME))
    with pytest.raises(ValueError, match="out has shape"):
        basalt.Matrix(a, RUNTIME).numpy(np.empty((2, 2)))
    with pytest.raises(ValueError, match="those of LU"):
        basalt.Matrix(a, RUNTIME).qr().pivots
    singular = basalt.Matrix(np.zeros((4, 4)), RUNTIME)
    assert singular.lu().info == 1


class Tensor:
    """An array of another library: it knows DLPack alone."""

    def __init__(self, array):
        self.array = array

    @property
    def shape(self):
        return self.array.shape

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __array_namespace__(self):
        return Tensor

    @staticmethod
    def from_dlpack(other):
        made = Tensor(np.from_dlpack(other))
        made.source = other
        return made


def test_arrays_of_other_libraries_come_back_as_theirs():
    a, b = positive(12, np.float64), right(12, np.float64, 2)
    x = bl.solve(Tensor(a), Tensor(b))
    assert isinstance(x, Tensor)
    close(x.array, np.linalg.solve(a, b), np.float64)
    assert x.array.__array_interface__["data"] == x.source.__array_interface__["data"]  # no copy on the way
    lu, pivots = bl.lu_factor(Tensor(a))
    close(lu.array, sl.lu_factor(a)[0], np.float64)
    close(bl.cholesky(Tensor(a), lower=True).array, np.linalg.cholesky(a), np.float64)
    with pytest.raises(TypeError, match="same library"):
        bl.solve(Tensor(a), [1.0] * 12)


@pytest.mark.parametrize("order", ["C", "F", "strided"])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("library", [LikeCuPy, LikePyTorch])
def test_arrays_on_gpus_are_solved_where_they_are(library, dtype, order):
    with basalt.Runtime(workers=2, emulated_gpus=2) as runtime:
        for n in (0, 1, 7, 90):
            a, spd = ORDERS[order](general(n, dtype)), ORDERS[order](positive(n, dtype))
            before = a.copy(), spd.copy()
            lu, pivots = bl.lu_factor(library(a), runtime=runtime)
            if n:
                expected = sl.lu_factor(a)
                close(lu.array, expected[0], dtype)
                np.testing.assert_array_equal(pivots, expected[1])
                if order != "strided":  # nothing is transposed
                    assert lu.array.strides == a.strides
            for lower in (False, True):
                one = spd.copy()  # the other triangle is not read
                one[np.triu_indices(n, 1) if lower else np.tril_indices(n, -1)] = np.nan
                factor = bl.cholesky(library(ORDERS[order](one)), lower, runtime=runtime).array
                close(factor, sl.cholesky(spd, lower) if n else spd, dtype)
            for columns in (None, 1, 3):
                b = ORDERS[order](right(n, dtype, columns))
                kept = b.copy()
                for transposed in (False, True):
                    x = bl.solve(library(a), library(b), transposed=transposed, runtime=runtime).array
                    assert x.shape == b.shape and x.dtype == dtype
                    close(a.T @ x if transposed else a @ x, b, dtype)
                for lower in (False, True):
                    x = bl.solve(library(spd), library(b), lower, assume_a="pos", runtime=runtime).array
                    close(spd @ x, b, dtype)
                for transposed in (False, True) if dtype == np.float64 else ():
                    x = bl.solve(library(a), library(b), transposed=transposed, method="mixed", runtime=runtime).array
                    close(a.T @ x if transposed else a @ x, b, dtype)
                np.testing.assert_array_equal(b, kept)
            np.testing.assert_array_equal(a, before[0])
            np.testing.assert_array_equal(spd, before[1])
        assert waited_for() == {1}


def test_what_arrays_on_gpus_cannot_be_is_refused():
    with basalt.Runtime(workers=2, emulated_gpus=2) as runtime:
        a, b = LikeCuPy(general(5, np.float64)), LikeCuPy(right(5, np.float64, 2))
        refused = [
            (lambda: bl.solve(LikeCuPy(np.ones((3, 4))), b, runtime=runtime), ValueError, "a has shape (3, 4)"),
            (lambda: bl.solve(a, LikeCuPy(np.ones(4)), runtime=runtime), ValueError, "b has shape (4,)"),
            (lambda: bl.solve(a, LikeCuPy(np.ones((5, 1), np.float32)), runtime=runtime), TypeError, "dtype float32"),
            (lambda: bl.solve(a, b, assume_a="sym", runtime=runtime), TypeError, "allowed are 'gen' and 'pos'"),
            (lambda: bl.cholesky(LikeCuPy(np.ones((3, 4))), runtime=runtime), ValueError, "a square matrix"),
            (lambda: bl.lu_factor(LikeCuPy(np.ones(3)), runtime=runtime), ValueError, "a has shape (3,)"),
            (lambda: bl.lu_factor(LikeCuPy(np.ones((3, 3), np.int64)), runtime=runtime), TypeError, "dtype int64"),
            (lambda: bl.solve(LikeCuPy(np.zeros((5, 5))), b, runtime=runtime), bl.LinAlgError, "INFO 1"),
            (lambda: bl.cholesky(LikeCuPy(-np.eye(5)), runtime=runtime), bl.LinAlgError, "order 1"),
        ]
        for call, error, text in refused:
            with pytest.raises(error) as raised:
                call()
            assert text in str(raised.value)
