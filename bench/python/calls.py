"""What a call from Python costs, and basalt.linalg against scipy.linalg in turn.

usage: calls.py overhead
       calls.py versus [--n 4000] [--repeat 3]    set OMP_NUM_THREADS and BASALT_WORKERS to the same number
       calls.py gpu [--n 16384] [--repeat 5]      PyTorch's and CuPy's arrays on GPU 0, against the call in C++

`overhead` prints the median of the time of calls that do next to nothing in the library. `gpu` compares with what
basalt.linalg calls, on arrays that are made before.
"""

import argparse
import statistics
import time

import numpy as np


def median_us(call, count=2000, repeat=5):
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        for _ in range(count):
            call()
        times.append((time.perf_counter() - begin) / count * 1e6)
    return statistics.median(times)


def overhead():
    import basalt
    import basalt.linalg as ours
    from basalt import _basalt

    rt = basalt.Runtime(workers=1)
    x, y = np.zeros(10), np.zeros(10)
    one = np.ones((1, 1), order="F")
    pivots = np.zeros(1, np.int64)

    def nothing(x, y):
        pass

    def submit_and_drop():
        rt.submit(nothing, reads=[x], writes=[y])

    rows = [("wait(0), nothing in flight", lambda: rt.wait(0)),
            ("extension: lu_solve of order 1", lambda: _basalt.lu_solve(rt._core, one, pivots, one, False)),
            ("linalg.lu_solve of order 1", lambda: ours.lu_solve((one, pivots), one, runtime=rt)),
            ("linalg.solve of order 1", lambda: ours.solve(one, one, runtime=rt)),
            ("linalg.lu_factor of order 1", lambda: ours.lu_factor(one, runtime=rt)),
            ("submit of a function with two arrays", submit_and_drop)]
    for name, call in rows:
        print(f"{name}: {median_us(call):.2f} us")
        rt.wait()


def versus(n, repeat):
    import scipy.linalg as theirs

    import basalt.linalg as ours

    rng = np.random.default_rng(0)
    a = rng.standard_normal((n, n)) + np.sqrt(n) * np.eye(n)
    spd = a @ a.T
    b = rng.standard_normal(n)
    cases = [("solve", lambda m: m.solve(a, b)), ("solve, pos", lambda m: m.solve(spd, b, assume_a="pos")),
             ("inv", lambda m: m.inv(a)), ("det", lambda m: m.det(a)), ("lu_factor", lambda m: m.lu_factor(a)),
             ("cho_factor", lambda m: m.cho_factor(spd)), ("cholesky", lambda m: m.cholesky(spd)),
             ("qr", lambda m: m.qr(a)), ("qr, r", lambda m: m.qr(a, mode="r")), ("lstsq", None)]
    for name, call in cases:
        if call is None:
            tall = np.ascontiguousarray(a[:, : n // 4])
            call = lambda m: m.lstsq(tall, b, **({"lapack_driver": "gelsy"} if m is theirs else {}))  # noqa: E731
        times = {ours: [], theirs: []}
        for _ in range(repeat):
            for module in (ours, theirs):
                begin = time.perf_counter()
                call(module)
                times[module].append(time.perf_counter() - begin)
        mine, other = statistics.median(times[ours]), statistics.median(times[theirs])
        print(f"{name}: {mine:.3f} s against {other:.3f} s, {other / mine:.2f} times as fast", flush=True)


def medians(calls, repeat):
    """Of their times, in turn, after one call of each that does not count."""
    times = [[] for _ in calls]
    for round in range(repeat + 1):
        for own, call in zip(times, calls):
            begin = time.perf_counter()
            call()
            if round > 0:
                own.append(time.perf_counter() - begin)
    return [statistics.median(own) for own in times]


def on_gpu(n, repeat):
    import basalt
    import basalt.linalg as ours
    from basalt import _basalt

    rt = basalt.Runtime()
    for name in ("torch", "cupy"):
        try:
            library = __import__(name)
        except ImportError:
            print(f"{name} is not there")
            continue
        rng = np.random.default_rng(0)
        host = rng.standard_normal((n, n)) + np.sqrt(n) * np.eye(n)
        to_gpu = (lambda x: library.from_numpy(x).cuda()) if name == "torch" else library.asarray
        to_host = (lambda x: x.cpu().numpy()) if name == "torch" else library.asnumpy
        a, spd, b = to_gpu(host), to_gpu(host @ host.T), to_gpu(rng.standard_normal((n, 1)))
        columns, out, pivots = to_gpu(np.ascontiguousarray(host.T)), library.zeros_like(a), np.zeros(n, np.int64)
        x = library.zeros_like(b)
        cases = [("lu_factor, Fortran order", lambda: ours.lu_factor(columns.T, runtime=rt),
                  lambda: _basalt.lu_factor(rt._core, columns.T, out.T, pivots)),
                 ("lu_factor, C order", lambda: ours.lu_factor(a, runtime=rt),
                  lambda: _basalt.lu_factor(rt._core, a, out, pivots)),
                 ("solve", lambda: ours.solve(a, b, runtime=rt),
                  lambda: _basalt.solve(rt._core, a.T, b.reshape(1, n).T, x.reshape(1, n).T, 0, True, False)),
                 ("cholesky", lambda: ours.cholesky(spd, runtime=rt),
                  lambda: _basalt.cholesky(rt._core, spd.T, out.T, True))]
        for what, python, cpp in cases:
            own, plain = medians([python, cpp], repeat)
            print(f"{name}, {what}: {own * 1e3:.2f} ms, in C++ {plain * 1e3:.2f} ms, {own / plain:.4f} of it", flush=True)
        residual = np.abs(host @ to_host(ours.solve(a, b, runtime=rt)) - to_host(b)).max()
        factor = to_host(ours.cholesky(spd, lower=True, runtime=rt))
        error = np.abs(factor[-1] @ factor.T - to_host(spd)[-1]).max()
        print(f"{name}: largest residual {residual:.1e}, of Cholesky's last row {error:.1e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["overhead", "versus", "gpu"])
    parser.add_argument("--n", type=int)
    parser.add_argument("--repeat", type=int)
    given = parser.parse_args()
    if given.what == "overhead":
        overhead()
    elif given.what == "versus":
        versus(given.n or 4000, given.repeat or 3)
    else:
        on_gpu(given.n or 16384, given.repeat or 5)


main()
