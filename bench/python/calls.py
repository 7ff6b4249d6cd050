"""What a call from Python costs, and basalt.linalg against scipy.linalg in turn.

usage: calls.py overhead
       calls.py versus [--n 4000] [--repeat 3]    set OMP_NUM_THREADS and BASALT_WORKERS to the same number

`overhead` prints the median of the time of calls that do next to nothing in the library.
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["overhead", "versus"])
    parser.add_argument("--n", type=int, default=4000)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    overhead() if given.what == "overhead" else versus(given.n, given.repeat)


main()
