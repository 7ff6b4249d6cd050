"""The program `basalt` as scripts see it: exit status, what goes to stdout and stderr, files it writes. What its tests
share.

usage of each: test_NAME.py PROGRAM HPL_DAT [TEST...]    HPL_DAT is any valid input; its N and NB lines are replaced
Ends with "cases: N passed, M failed, 0 skipped".
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback

PROGRAM, HPL_DAT = map(os.path.abspath, sys.argv[1:3])
tests = []
soak_tests = []


class Skipped(Exception):
    """Raised by a test that cannot run here; the text says why."""


def test(function):
    tests.append(function)
    return function


def soak(function):
    """A long test: runs only where it is named on the command line."""
    soak_tests.append(function)
    return function


class Result:
    def __init__(self, finished):
        self.status, self.out, self.err = finished.returncode, finished.stdout, finished.stderr


def environment(extra):
    """Without settings of ours, the machine's GPUs and what was learnt: these tests know what comes out."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("BASALT_")}
    return {**clean, "CUDA_VISIBLE_DEVICES": "", "BASALT_MODELS": "none", **extra}


def basalt(*arguments, env={}, drop=(), **options):
    """Runs the program and returns its status, stdout and stderr as text."""
    variables = {name: value for name, value in environment(env).items() if name not in drop}
    return Result(subprocess.run([PROGRAM, *arguments], env=variables, stdin=subprocess.DEVNULL, capture_output=True,
                                 text=True, errors="replace", **{"timeout": 120, **options}))


def expect(condition, result):
    if not condition:
        out, err = result.out[-2000:], result.err[-2000:]
        raise AssertionError(f"status {result.status}\nstdout:\n{out}\nstderr:\n{err}")


def expect_refused(result, *words, status=2):
    """Nothing on stdout, one line on stderr that has all the words."""
    expect(result.status == status and result.out == "" and result.err.count("\n") == 1, result)
    expect(result.err.startswith("basalt: ") and all(word in result.err for word in words), result)


def interrupted(*arguments, after, sent=signal.SIGINT, limit=10):
    """Runs the program, sends the signal once `after` is in its output and a moment has passed, and expects that it ends
    within `limit` seconds."""
    process = subprocess.Popen([PROGRAM, *arguments], env=environment({}), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out = ""
    while after not in out:
        line = process.stdout.readline()
        if not line:
            break
        out += line
    time.sleep(0.03)
    process.send_signal(sent)
    since = time.monotonic()
    rest, err = process.communicate(timeout=60)
    finished = subprocess.CompletedProcess(arguments, process.returncode, out + rest, err)
    expect(time.monotonic() - since < limit, Result(finished))
    return Result(finished)


def in_folder(function):
    """Gives the test an empty folder to work in."""
    def wrapped():
        with tempfile.TemporaryDirectory() as folder:
            function(folder)
    wrapped.__name__ = function.__name__
    return wrapped


def hpl_lines(sizes="200 300", block_sizes="32", **changes):
    """Lines of an HPL.dat; changes are line_N="text"."""
    with open(HPL_DAT, encoding="utf-8") as source:
        lines = source.read().split("\n")[:31]
    lines[3] = "6"
    lines[4], lines[5] = f"{len(sizes.split())}", sizes
    lines[6], lines[7] = f"{len(block_sizes.split())}", block_sizes
    for name, text in changes.items():
        lines[int(name[5:]) - 1] = text
    return lines


def write_input(folder, lines, name="HPL.dat"):
    path = os.path.join(folder, name)
    with open(path, "wb") as out:
        out.write(b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines) + b"\n")
    return path


def counts(report):
    """(passed, failed, skipped) of an HPL report."""
    found = [re.search(rf"(\d+) tests {what}", report) for what in
             ("completed and passed", "completed and failed", "skipped because of illegal input values")]
    return tuple(int(match.group(1)) for match in found)


def main():
    failed = skipped = 0
    wanted = sys.argv[3:]
    chosen = [case for case in tests + soak_tests if case.__name__ in wanted] if wanted else tests
    for case in chosen:
        try:
            case()
        except Skipped as reason:
            skipped += 1
            print(f"{case.__name__} skipped: {reason}")
        except Exception:  # noqa: BLE001: whatever it is, it is this case's failure
            failed += 1
            print(f"{case.__name__} failed:\n{traceback.format_exc()}")
    print(f"cases: {len(chosen) - failed - skipped} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 0)
