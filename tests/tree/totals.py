"""Adds up the logs of `meson test` and prints the closing line of ./run test: N passed, M failed, K skipped.

A unit test program reports its cases in a line of its own (tests/common/main.cpp); any other test counts as one.
usage: totals.py --broken B LOG.json...; B counts builds that failed, each one failure. Exits non-zero unless
something passed and nothing failed.
"""

import json
import re
import sys

CASES = re.compile(r"^cases: (\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)
PASSED = ("OK", "EXPECTEDFAIL")


def counts(test):
    """(passed, failed, skipped) of one entry of the log."""
    reported = CASES.search(test.get("stdout") or "")
    if reported:
        passed, failed, skipped = map(int, reported.groups())
        broke_afterwards = failed == 0 and test["result"] not in PASSED + ("SKIP",)
        return passed, failed + broke_afterwards, skipped
    return test["result"] in PASSED, test["result"] not in PASSED + ("SKIP",), test["result"] == "SKIP"


def main():
    totals = [0, int(sys.argv[2]), 0]
    for path in sys.argv[3:]:
        with open(path, encoding="utf-8") as log:
            for line in log:
                totals = [total + count for total, count in zip(totals, counts(json.loads(line)))]
    passed, failed, skipped = totals
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(0 if passed > 0 and failed == 0 else 1)


main()
