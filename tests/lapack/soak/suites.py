"""Existing programs and their own test suites with libbasalt_lapack in front of their LAPACK, compared with the same without.

usage: suites.py WRAPPER [PART...]     parts: testers, r, octave, debian, pypi; without any: all
WRAPPER is basalt-lapack. A part whose programs are missing is skipped with the reason. Nothing is installed, except
NumPy and SciPy from PyPI into a virtual environment of its own under the folder for temporary files.
Ends with "cases: N passed, M failed, K skipped".
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

WRAPPER = os.path.abspath(sys.argv[1])
COUNTS = {"passed": 0, "failed": 0, "skipped": 0}

R_PROGRAM = """
set.seed(1); n <- 2200; a <- matrix(rnorm(n*n), n) + diag(n)*n; b <- rnorm(n)
stopifnot(max(abs(a %*% solve(a, b) - b)) < 1e-8, dim(solve(a)) == n)
s <- crossprod(a); u <- chol(s); stopifnot(max(abs(crossprod(u) - s)) < 1e-9 * max(s)); v <- chol2inv(u)
q <- qr(a, LAPACK=TRUE); stopifnot(max(abs(a %*% qr.coef(q, b) - b)) < 1e-6)
"""
OCTAVE_PROGRAM = """
n = 2200; a = randn(n) + n*eye(n); b = randn(n, 2); x = a \\ b; assert(norm(a*x-b) < 1e-8);
i = inv(a); assert(norm(i*a - eye(n)) < 1e-8); s = a*a'; r = chol(s); assert(norm(r'*r - s)/norm(s) < 1e-12);
[q, t] = qr(a); assert(norm(q*t - a)/norm(a) < 1e-12); z = randn(3000, 1500) \\ randn(3000, 2); disp("right");
"""
PYTHON_PROGRAM = """
import numpy as np, scipy.linalg as sl
n = 2200
a = np.random.default_rng(1).standard_normal((n, n)) + n * np.eye(n)
b = np.ones((n, 3)); s = a @ a.T
def near(x, y, t=1e-8): assert abs(x - y).max() <= t * max(1, abs(y).max())
near(a @ np.linalg.solve(a, b), b); near(a @ np.linalg.inv(a), np.eye(n)); near(a @ sl.inv(a), np.eye(n))
l = np.linalg.cholesky(s); near(l @ l.T, s); q, r = np.linalg.qr(a); near(q @ r, a); q, r = sl.qr(a); near(q @ r, a)
near(a @ sl.lu_solve(sl.lu_factor(a), b), b); near(s @ sl.cho_solve(sl.cho_factor(s), b), b)
near(a @ sl.solve(a, b), b); near(a @ np.linalg.lstsq(a, b, rcond=None)[0], b); near(a @ sl.lstsq(a, b)[0], b)
"""


def note(outcome, name, text=""):
    COUNTS[outcome] += 1
    print(f"{outcome}: {name}{': ' if text else ''}{text}", flush=True)


def run(command, mode=None, log=None, **options):
    """The result of a command, with the library in front unless there is no mode."""
    if mode is not None:
        command = [WRAPPER, "--mode", mode, *(["--log", log] if log else []), *command]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def taken(log, routines):
    """Those of the routines that no call of was taken."""
    with open(log, encoding="utf-8") as lines:
        found = set(re.findall(r"summary: (\w+) taken", lines.read()))
    return [routine for routine in routines if routine not in found]


def program(name, command, routines, folder):
    """A program that checks its own results; the log proves who computed them."""
    log = os.path.join(folder, "log")
    if os.path.exists(log):
        os.remove(log)
    result = run(command, "auto", log)
    missing = taken(log, routines) if os.path.exists(log) else routines
    right = missing == [] and "rror in" not in result.stderr and "Traceback" not in result.stderr
    note("passed" if right else "failed", name, "" if right else f"not taken: {missing}; {result.stderr[-500:]}")


def testers(folder):
    """LAPACK's own tests: the same lines as without, except for times."""
    here = f"/usr/lib/{os.uname().machine}-linux-gnu/lapack"
    for tester, data in (("xlintstd", "dtest.in"), ("xlintsts", "stest.in"), ("xlintstrfd", "dtest_rfp.in"),
                         ("xlintstds", "dstest.in")):
        path = os.path.join(here, tester)
        if not os.path.exists(path):
            note("skipped", tester, "Debian's liblapack-test is not installed")
            continue
        with open(os.path.join(here, data), encoding="utf-8") as text:
            source = text.read()
        outputs = [re.sub(r"Total time used.*", "", run([path], mode, input=source, cwd=folder).stdout)
                   for mode in (None, "always")]
        right = outputs[0] == outputs[1] and "End of tests" in outputs[1] and "***" not in outputs[1]
        note("passed" if right else "failed", tester)


def suite(name, python, folder):
    """The tests of NumPy's and SciPy's linalg: no failure that is not there without the library."""
    for package in ("numpy.linalg", "scipy.linalg"):
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rfE", "--pyargs", package]
        failures = {}
        for mode in (None, "always", "auto"):
            result = run(command, mode, cwd=folder)
            failures[mode] = set(re.findall(r"^(?:FAILED|ERROR) (\S+)", result.stdout, re.MULTILINE))
            if " passed" not in result.stdout:
                note("failed", f"{name}, {package}, {mode}", result.stdout[-300:] + result.stderr[-300:])
                continue
            new = failures[mode] - failures.get(None, set())
            if mode is not None:
                note("failed" if new else "passed", f"{name}, {package}, {mode}", " ".join(sorted(new)))


def python_part(name, python, folder):
    modules = run([python, "-c", "import numpy, scipy, pytest, hypothesis"])
    if modules.returncode != 0:
        return note("skipped", name, modules.stderr.strip().splitlines()[-1])
    program(f"{name}: calls", [python, "-c", PYTHON_PROGRAM], ["gesv", "getrf", "potrf", "geqrf", "orgqr"], folder)
    return suite(name, python, folder)


def pypi(folder):
    place = os.path.join(folder, "venv")
    made = run([sys.executable, "-m", "venv", place])
    if made.returncode == 0:
        made = run([os.path.join(place, "bin", "pip"), "install", "-q", "numpy", "scipy", "pytest", "hypothesis"])
    if made.returncode != 0:
        return note("skipped", "wheels from PyPI", made.stderr.strip()[-200:])
    return python_part("wheels from PyPI", os.path.join(place, "bin", "python"), folder)


def script(name, binary, arguments, routines, folder):
    path = shutil.which(binary)
    if path is None:
        return note("skipped", name, f"there is no {binary}")
    return program(name, [path, *arguments], routines, folder)


PARTS = {
    "testers": testers,
    "r": lambda folder: script("R", "Rscript", ["-e", R_PROGRAM], ["gesv", "potrf", "potri"], folder),
    "octave": lambda folder: script("Octave", "octave-cli", ["-q", "--eval", OCTAVE_PROGRAM],
                                    ["getrf", "getri", "potrf", "geqrf", "orgqr"], folder),
    "debian": lambda folder: python_part("Debian's Python", "/usr/bin/python3", folder),
    "pypi": pypi,
}


def main():
    with tempfile.TemporaryDirectory() as folder:
        for part in sys.argv[2:] or PARTS:
            PARTS[part](folder)
    print("cases: {passed} passed, {failed} failed, {skipped} skipped".format(**COUNTS))
    sys.exit(1 if COUNTS["failed"] else 0)


if __name__ == "__main__":
    main()
