"""`hpl`: HPL.dat in, the report out."""

import json
import os
import re

from program import (PROGRAM, basalt, counts, expect, expect_refused, hpl_lines, in_folder, interrupted, main, test,
                     write_input)


@test
@in_folder
def hpl_runs_every_test_of_its_input(folder):
    path = write_input(folder, hpl_lines("200 301", "32 50"))
    shown = basalt("hpl", path)
    expect(shown.status == 0 and shown.err == "", shown)
    expect(counts(shown.out) == (4, 0, 0) and shown.out.count("...... PASSED") == 4, shown)
    expect(shown.out.startswith("=" * 80 + "\nHPLinpack 2.3  --"), shown)
    result = r"^W[RC]\S+ +301 +50 +1 +1 +\d+\.\d\d +\d\.\d{4}e[+-]\d\d$"
    expect(re.search(result, shown.out, re.MULTILINE), shown)
    expect(basalt("hpl", cwd=folder).status == 0, shown)


@test
@in_folder
def hpl_takes_the_smallest_systems(folder):
    shown = basalt("hpl", write_input(folder, hpl_lines("0 1 2 3", "1 64")))
    expect(shown.status == 0 and counts(shown.out) == (8, 0, 0), shown)


@test
@in_folder
def hpl_skips_grids_that_are_too_large_unless_told_not_to(folder):
    grids = {"line_10": "2", "line_11": "1 2", "line_12": "1 3"}
    path = write_input(folder, hpl_lines("100", "32", **grids))
    shown = basalt("hpl", path)
    expect(shown.status == 0 and counts(shown.out) == (1, 0, 1), shown)
    expect(">>> Need at least 6 processes for these tests <<<" in shown.out, shown)
    expect(shown.err.count("\n") == 1 and "HPL.dat: skipped 1 test: P x Q = 2 x 3" in shown.err and
           "--ignore-grid" in shown.err, shown)
    path = write_input(folder, hpl_lines("100", "32", **{**grids, "line_11": "2 2"}))
    shown = basalt("hpl", path)
    expect(shown.status == 1 and counts(shown.out) == (0, 0, 2), shown)
    shown = basalt("hpl", path, "--ignore-grid")
    expect(shown.status == 0 and counts(shown.out) == (2, 0, 0), shown)
    expect("2 x 3" in shown.err and "one process" in shown.err, shown)


@test
@in_folder
def hpl_mxp_reports_both_rates(folder):
    path = write_input(folder, hpl_lines("0 3 150", "32"))
    for arguments in ([], ["--mode", "gpu", "--emulated-gpus", "2"]):
        shown = basalt("hpl", path, "--mxp", "--json", "-", *arguments)
        records = [json.loads(line) for line in shown.out.splitlines()]
        expect(shown.status == 0 and [record["n"] for record in records] == [0, 3, 150], shown)
        expect(all(record["routine"] == "hpl_mxp" and record["passed"] for record in records), shown)
        expect(records[2]["lu_gflops"] > records[2]["gflops"] > 0 and records[2]["residual_ratio"] < 16, shown)
    expect(basalt("hpl", write_input(folder, hpl_lines("100", "32", line_13="1e-30")), "--mxp").status == 1, "1e-30")
    expect_refused(basalt("hpl", path, "--factor-precision", "fp16"), "--factor-precision", "--mxp")


@test
@in_folder
def hpl_mxp_does_with_its_input_what_hpl_does(folder):
    trace = os.path.join(folder, "trace.json")
    path = write_input(folder, hpl_lines("100 300", "32 512"))
    shown = basalt("hpl", path, "--mxp", "--json", "-", "--trace", trace, "--tile", "256x256")
    records = [json.loads(line) for line in shown.out.splitlines()]
    expect(shown.status == 0 and [record["nb"] for record in records] == [32, 100, 32, 256], shown)
    shown = basalt("hpl", path, "--mxp", "--json", "-")
    expect(json.loads(shown.out.splitlines()[3])["nb"] == 300, shown)  # the tile holds whole panels
    with open(trace, encoding="utf-8") as events:
        assert any(event["ph"] == "X" for event in json.load(events)["traceEvents"])
    expect_refused(basalt("hpl", path, "--mxp", "--json", path), "FILE", "--json")
    expect_refused(basalt("hpl", path, "--mxp", "--factor-precision", "fp16", "--mode", "cpu"),
                   "--factor-precision fp16 where the mode is cpu; allowed: auto, s, s-plain")
    both = basalt("hpl", path, "--energy"), basalt("hpl", path, "--mxp", "--energy")
    expect(both[0].status == both[1].status, both[1])
    unchecked = basalt("hpl", write_input(folder, hpl_lines("100", "32", line_13="0.0")), "--mxp", "--json", "-")
    expect(unchecked.status == 0 and json.loads(unchecked.out)["passed"] is None, unchecked)
    expect("not checked" in unchecked.err, unchecked)
    grid = write_input(folder, hpl_lines("100", "32", line_11="2"))
    shown = basalt("hpl", grid, "--mxp")
    expect(shown.status == 1 and "skipped 1 test" in shown.err and "--ignore-grid" in shown.err, shown)
    shown = basalt("hpl", grid, "--mxp", "--ignore-grid")
    expect(shown.status == 0 and "PASSED" in shown.out and "one process" in shown.err, shown)
    shown = basalt("hpl", write_input(folder, hpl_lines("100 9000000", "32")), "--mxp")
    expect_refused(shown, "9000000", "needs", "available", status=3)
    # of order 1 the matrix is zero, as the diagonal is the sum of the other magnitudes; of order 2 it is singular but for
    # rounding
    shown = basalt("hpl", write_input(folder, hpl_lines("1 3", "32")), "--mxp", "--json", "-")
    expect(shown.status == 1 and shown.err.count(" ...... FAILED: not refined, the factors of low") == 1, shown)
    expect([json.loads(line)["passed"] for line in shown.out.splitlines()] == [False, True], shown)


@test
@in_folder
def control_c_ends_both_benchmarks_with_a_count(folder):
    sizes = " ".join(["500"] * 20)
    path = write_input(folder, hpl_lines(sizes, " ".join(map(str, range(20, 40)))))
    for arguments in ([], ["--mxp"], ["--mxp", "--mode", "gpu", "--emulated-gpus", "1"]):
        shown = interrupted("hpl", path, *arguments, after="PASSED")
        expect(shown.status == 130 and "...... FAILED" not in shown.out, shown)
        tests = re.fullmatch(r"basalt: interrupted after (\d+) of (\d+) tests\n", shown.err)
        expect(tests and 0 < int(tests[1]) < int(tests[2]), shown)


@test
@in_folder
def hpl_exits_with_1_when_a_test_fails(folder):
    shown = basalt("hpl", write_input(folder, hpl_lines("100", "32", line_13="1e-30")))
    expect(shown.status == 1 and counts(shown.out) == (0, 1, 0) and "...... FAILED" in shown.out, shown)


@test
@in_folder
def hpl_does_not_check_with_a_threshold_of_zero(folder):
    shown = basalt("hpl", write_input(folder, hpl_lines("100", "32", line_13="0.0")))
    expect(shown.status == 0 and "1 tests completed without checking" in shown.out, shown)


@test
@in_folder
def hpl_writes_a_record_a_test_and_a_trace(folder):
    trace = os.path.join(folder, "trace.json")
    shown = basalt("hpl", write_input(folder, hpl_lines("100 90", "32 16")), "--json", "-", "--trace", trace)
    expect(shown.status == 0 and counts(shown.err) == (4, 0, 0), shown)
    records = [json.loads(line) for line in shown.out.splitlines()]
    expect([(r["routine"], r["n"], r["nb"], r["passed"]) for r in records] ==
           [("hpl", n, nb, True) for n in (100, 90) for nb in (32, 16)], shown)
    with open(trace, encoding="utf-8") as events:
        assert any(event["ph"] == "X" for event in json.load(events)["traceEvents"])


@test
@in_folder
def hpl_writes_where_the_device_line_says(folder):
    shown = basalt("hpl", write_input(folder, hpl_lines("50", line_4="7")))
    expect(shown.status == 0 and shown.out == "" and "HPLinpack 2.3" in shown.err, shown)
    shown = basalt("hpl", write_input(folder, hpl_lines("50", line_3="result.txt", line_4="8")), cwd=folder)
    expect(shown.status == 0 and shown.out == "" and shown.err == "", shown)
    with open(os.path.join(folder, "result.txt"), encoding="utf-8") as report:
        assert counts(report.read()) == (1, 0, 0)
    shown = basalt("hpl", write_input(folder, hpl_lines("50", line_3="/nowhere/out", line_4="8")))
    expect_refused(shown, "HPL.dat:3", "/nowhere/out")


@test
@in_folder
def hpl_refuses_malformed_input_and_writes_nothing(folder):
    report = os.path.join(folder, "HPL.out")
    with open(report, "w", encoding="utf-8") as out:
        out.write("precious")
    malformed = [(4, "six"), (5, "0"), (6, "100 -3"), (6, "100 2147483647"), (7, "21"), (8, "0"), (9, "2"),
                 (10, ""), (11, "x"), (12, "0"), (13, "nan"), (13, "1e308"), (14, "-1"), (15, "7"), (16, "z"),
                 (17, "0"), (18, "99"), (19, "1"), (20, "0"), (21, "3"), (22, "0"), (23, "6"), (24, "0"),
                 (25, "-1"), (26, "3"), (27, "-1"), (28, "2"), (29, "2"), (30, "2"), (31, "0"),
                 (2, b"\0\1\2\xff"), (13, b"\x7fELF"), (6, "9" * 100000), (1, " " * 100000)]
    for line, text in malformed:
        changes = {"line_3": "HPL.out", "line_4": "8", f"line_{line}": text}
        path = write_input(folder, hpl_lines("100 200", **changes))
        expect_refused(basalt("hpl", path, cwd=folder), f"HPL.dat:{line}: ")
    for kept in (0, 1, 12, 30):
        path = write_input(folder, hpl_lines()[:kept])
        if kept == 0:
            open(path, "w", encoding="utf-8").close()
        expect_refused(basalt("hpl", path, cwd=folder), f"HPL.dat:{kept + 1}: ")
    with open(report, encoding="utf-8") as out:
        assert out.read() == "precious"
    assert sorted(os.listdir(folder)) == ["HPL.dat", "HPL.out"]


@test
@in_folder
def hpl_refuses_what_it_cannot_read_or_hold(folder):
    expect_refused(basalt("hpl", "/nowhere/HPL.dat"), "/nowhere/HPL.dat")
    expect_refused(basalt("hpl", folder), folder, "is a folder")
    path = write_input(folder, hpl_lines("100 9000000", line_3="o.txt", line_4="8"))
    shown = basalt("hpl", path, cwd=folder)
    expect_refused(shown, "9000000", "needs", "available", status=3)
    assert not os.path.exists(os.path.join(folder, "o.txt"))


def by_both(*arguments, **options):
    """Results of `basalt hpl` and of the program basalt-hpl."""
    return basalt("hpl", *arguments, **options), basalt(*arguments, executable=PROGRAM + "-hpl", **options)


@test
@in_folder
def basalt_hpl_is_a_program_of_its_own_and_does_the_same(folder):
    path = write_input(folder, hpl_lines("0 150", "32"))
    compared = ("routine", "n", "nb", "mode", "residual_ratio", "passed")
    for arguments in ([], ["--mxp"], ["--mode", "gpu", "--emulated-gpus", "1"]):
        both = by_both("--json", "-", *arguments, cwd=folder)  # reads HPL.dat
        records = [[[json.loads(line)[name] for name in compared] for line in shown.out.splitlines()]
                   for shown in both]
        expect(both[0].status == both[1].status == 0 and len(records[1]) == 2 and records[0] == records[1], both[1])
    failing = write_input(folder, hpl_lines("100", "32", line_13="1e-30"), "failing.dat")
    expect([shown.status for shown in by_both(failing)] == [1, 1], by_both(failing)[1])
    for arguments, status in ((["--help"], 0), (["--version"], 0), (["--nonsense"], 2), (["--n", "3", path], 2),
                              (["missing.dat"], 2), ([path, path], 2), (["--mode", "cpu", "--gpus", "1"], 2),
                              ([path, "--mode", "gpu", "--gpus", "1"], 3)):
        one, other = by_both(*arguments, cwd=folder)
        expect((one.status, one.out, one.err) == (other.status, other.out, other.err), other)
        expect(other.status == status, other)
    one, other = by_both(path, env={"BASALT_MODE": "cpus"})
    expect(one.err == other.err, other)
    expect_refused(other, "BASALT_MODE", "cpus")


main()
