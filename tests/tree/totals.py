"""Adds up the logs of `meson test`: repeats what failed, then prints the closing line of ./run test: N passed,
M failed, K skipped. A failure early in a long run is thus told at its end.

A unit test program reports its cases in a line of its own (tests/common/main.cpp); any other test counts as one.
usage: totals.py --broken B LOG.json...; B counts builds that failed, each one failure. Exits non-zero unless
something passed and nothing failed.
"""

import json
import re
import sys

CASES = re.compile(r"^cases: (\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)
PASSED = ("OK", "EXPECTEDFAIL")
LINES_SHOWN = 40  # of each stream of a failed test


def counts(test):
    """(passed, failed, skipped) of one entry of the log."""
    reported = CASES.search(test.get("stdout") or "")
    if reported:
        passed, failed, skipped = map(int, reported.groups())
        broke_afterwards = failed == 0 and test["result"] not in PASSED + ("SKIP",)
        return passed, failed + broke_afterwards, skipped
    return test["result"] in PASSED, test["result"] not in PASSED + ("SKIP",), test["result"] == "SKIP"


def report_failure(test):
    """Names a failed test, with the end of what it printed."""
    print(f"failed: {test['name']} ({test['result']} after {test['duration']:.1f} s); the end of its output:")
    for stream in ("stdout", "stderr"):
        for line in (test.get(stream) or "").splitlines()[-LINES_SHOWN:]:
            print(f"    {line}")


def main():
    totals = [0, int(sys.argv[2]), 0]
    for path in sys.argv[3:]:
        with open(path, encoding="utf-8") as log:
            for line in log:
                test = json.loads(line)
                passed, failed, skipped = counts(test)
                totals = [totals[0] + passed, totals[1] + failed, totals[2] + skipped]
                if failed > 0:
                    report_failure(test)
    passed, failed, skipped = totals
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(0 if passed > 0 and failed == 0 else 1)


main()
