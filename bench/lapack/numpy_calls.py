"""NumPy's and SciPy's calls with libbasalt_lapack in front of the OpenBLAS that they bring and without, in processes that
take turns. Each process uses the same number of threads.

usage: numpy_calls.py WRAPPER [--python PYTHON] [--n 2000,4000,8000] [--calls solve,inv,cholesky,lu_factor,qr]
                      [--repeat 3] [--threads 2] [--mode auto] [--small CALLS]
WRAPPER is basalt-lapack. With --small, so many calls of each order from 1 to 256 are timed instead, in ns.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

SMALL = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def functions():
    import numpy
    import scipy.linalg

    return {
        "solve": lambda a, s, b: numpy.linalg.solve(a, b),
        "inv": lambda a, s, b: numpy.linalg.inv(a),
        "cholesky": lambda a, s, b: numpy.linalg.cholesky(s),
        "lu_factor": lambda a, s, b: scipy.linalg.lu_factor(a, check_finite=False),
        "qr": lambda a, s, b: numpy.linalg.qr(a),
    }


def arrays(n):
    import numpy

    a = numpy.random.default_rng(1).standard_normal((n, n))
    return a, (a + a.T) / 2 + 3 * n**0.5 * numpy.eye(n), numpy.ones(n)


def measure(call, n, calls):
    """Seconds of a call, the best of three groups where there are many; the first is a warm-up."""
    function, operands = functions()[call], arrays(n)
    seconds = []
    function(*operands)
    for _ in range(3 if calls > 1 else 1):
        time.sleep(0.1)  # threads that poll go to sleep
        begin = time.perf_counter()
        for _ in range(calls):
            function(*operands)
        seconds.append((time.perf_counter() - begin) / calls)
    return min(seconds)


def run(options, call, n, calls, preloaded):
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": str(options.threads), "BASALT_LAPACK": options.mode}
    command = [options.python, __file__, "--measure", call, str(n), str(calls)]
    if preloaded:
        command = [options.wrapper, *command]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(result.stdout)


def compare(options, call, n, calls):
    ours, theirs = [], []
    for _ in range(options.repeat):
        ours.append(run(options, call, n, calls, True))
        theirs.append(run(options, call, n, calls, False))
    return statistics.median(ours), statistics.median(theirs), ours, theirs


def main():
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("wrapper")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--n", default="2000,4000,8000")
    parser.add_argument("--calls", default="solve,inv,cholesky,lu_factor,qr")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--mode", default="auto")
    parser.add_argument("--small", type=int, default=0)
    options = parser.parse_args()
    ratios = []
    orders = SMALL if options.small else [int(n) for n in options.n.split(",")]
    for n in orders:
        for call in ["solve"] if options.small else options.calls.split(","):
            calls = max(200, options.small // max(1, n // 4)) if options.small else 1
            ours, theirs, *runs = compare(options, call, n, calls)
            ratios.append(theirs / ours)
            if options.small:
                print(f"{call} n = {n:>3}: {ours * 1e9:.0f} ns preloaded, {theirs * 1e9:.0f} without, "
                      f"{(ours - theirs) * 1e9:+.0f} ns, {(ours / theirs - 1) * 100:+.1f} %", flush=True)
            else:
                print(f"{call:<10} n = {n:>5}: {ours:.4f} s preloaded, {theirs:.4f} without: {theirs / ours:.2f} x "
                      f"{[[round(t, 3) for t in r] for r in runs]}", flush=True)
    if not options.small:
        print(f"median of all: {statistics.median(ratios):.2f} x")


if __name__ == "__main__":
    main()
