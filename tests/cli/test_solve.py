"""Matrix Market files and `solve`."""

import json
import math
import os
import random
import re

from program import basalt, expect, expect_refused, in_folder, interrupted, main, test, write_input


def write_matrix(folder, name, lines, banner="coordinate real general"):
    return write_input(folder, [f"%%MatrixMarket matrix {banner}", *lines], name)


@test
@in_folder
def factorizations_take_the_matrix_of_a_file(folder):
    path = write_matrix(folder, "a.mtx", ["4 3 4", "1 1 2", "2 2 1e-3", "4 3 5", "3 1 -1"])
    for precision in "ds":
        for more in ([], ["--m", "4", "--n", "3"], ["--mode", "hybrid", "--emulated-gpus", "1"]):
            shown = basalt("lu", "--matrix", path, "--precision", precision, "--json", "-", *more)
            expect(shown.status == 0 and "4 x 3" in shown.err and "info 0" in shown.err, shown)
            record = json.loads(shown.out)
            expect([record[key] for key in ("m", "n", "passed")] == [4, 3, True], shown)
    for option, size in (("--m", 4), ("--n", 3)):
        expect_refused(basalt("lu", "--matrix", path, option, "5"), f"{option} = 5; allowed: {size}, as in {path}")
    for command, banner in (("qr", "general"), ("cholesky", "symmetric")):
        square = write_matrix(folder, "c.mtx", ["2 2 3", "1 1 3", "2 1 1", "2 2 3"], f"coordinate real {banner}")
        shown = basalt(command, "--matrix", square)
        expect(shown.status == 0 and "2 x 2" in shown.out and "passed" in shown.out, shown)
    singular = basalt("lu", "--matrix", write_matrix(folder, "b.mtx", ["2 2 1", "1 1 3"]))
    expect(singular.status == 0 and "info 2" in singular.out, singular)


@test
@in_folder
def matrix_files_that_are_wrong_are_refused_with_the_line(folder):
    def refused(name, *words, status=2):
        expect_refused(basalt("lu", "--matrix", os.path.join(folder, name)), *words, status=status)

    write_matrix(folder, "cut.mtx", ["% a comment", "2 2 3", "1 1 1", "2 2 1"])
    refused("cut.mtx", "cut.mtx:6: the file ends after 2 of 3 entries; allowed: ")
    write_matrix(folder, "huge.mtx", ["4294967296 4294967296 1", "1 1 1"])
    refused("huge.mtx", "huge.mtx:2: ", "147573952589676412928 bytes", "allowed: ")
    write_matrix(folder, "large.mtx", ["100000000 100000000 1", "1 1 1"])
    refused("large.mtx", "large.mtx", "needs 160000000000000000 bytes", "available", status=3)
    write_matrix(folder, "complex.mtx", ["1 1 1", "1 1 1 0"], "coordinate complex general")
    refused("complex.mtx", "complex.mtx:1: ", "real, double, integer, pattern")
    refused("none.mtx", "none.mtx: No such file", "allowed: a Matrix Market file")
    os.mkdir(os.path.join(folder, "folder.mtx"))
    refused("folder.mtx", "folder.mtx: is a folder")


def read_array(path):
    """Columns of an array file without comments."""
    with open(path, encoding="ascii") as text:
        banner, size, *numbers = text.read().split("\n")
    rows, cols = map(int, size.split())
    assert banner == "%%MatrixMarket matrix array real general" and numbers.pop() == "" and len(numbers) == rows * cols
    return [list(map(float, numbers[j * rows:(j + 1) * rows])) for j in range(cols)]


@test
@in_folder
def solve_writes_the_solutions_of_all_right_hand_sides(folder):
    a = write_matrix(folder, "a.mtx", ["3 3 5", "1 1 2", "2 2 4", "3 3 8", "1 3 1", "3 1 -1"])
    b = write_matrix(folder, "b.txt", ["3 2", "5", "4", "23", "-4", "-4", "-7"], "array integer general")
    x = os.path.join(folder, "x.mtx")
    for precision, error in (("d", 1e-15), ("s", 1e-6)):
        for more in ([], ["--mode", "hybrid", "--emulated-gpus", "1"], ["--tile", "2x1", "--repeat", "2"]):
            shown = basalt("solve", a, b, "-o", x, "--precision", precision, "--json", "-", *more)
            expect(shown.status == 0 and "2 right-hand sides" in shown.err and x in shown.err, shown)
            expect(re.search(r"backward error \d\S* +ratio \d\S* passed", shown.err), shown)
            record = json.loads(shown.out)
            expect([record[key] for key in ("routine", "method", "factor_precision", "nrhs", "m", "n", "passed")] ==
                   ["gesv", "lu", precision, 2, 3, 3, True], shown)
            expect([record[key] for key in ("iterations", "fallback", "refine_seconds")] == [0, False, 0], shown)
            found = [entry for column in read_array(x) for entry in column]
            expect(max(abs(f - e) for f, e in zip(found, [1, 1, 3, -25 / 17, -1, -18 / 17])) < 8 * error, shown)


@test
@in_folder
def solve_without_a_right_hand_side_finds_ones(folder):
    a = write_matrix(folder, "a.mtx", ["2 2", "4", "1", "3"], "array real symmetric")
    x = os.path.join(folder, "x.mtx")
    shown = basalt("solve", a, "-o", x)
    expect(shown.status == 0 and "1 right-hand side " in shown.out and shown.err == "", shown)
    expect(max(abs(entry - 1) for entry in read_array(x)[0]) < 1e-15, shown)
    for arguments in (["--n", "300"], ["--n", "0"], ["--n", "1", "--precision", "s"],
                      ["--n", "400", "--matrix", "graded"],
                      ["--n", "307", "--nb", "32", "--mode", "gpu", "--emulated-gpus", "2", "--data", "device"]):
        shown = basalt("solve", *arguments, "-o", x)
        expect(shown.status == 0 and "passed" in shown.out, shown)


@test
@in_folder
def solve_of_order_0_has_info_0_and_an_empty_solution(folder):
    x = os.path.join(folder, "x.mtx")
    empty = write_matrix(folder, "empty.mtx", ["0 0 0"], "coordinate real symmetric")
    for place in ([], ["--mode", "hybrid", "--emulated-gpus", "1"], ["--mode", "gpu", "--emulated-gpus", "2"]):
        for matrix in (["--n", "0"], [empty]):
            for method in ("lu", "cholesky", "qr"):
                shown = basalt("solve", *matrix, "--method", method, *place, "-o", x, "--json", "-")
                expect(shown.status == 0 and "info 0" in shown.err and "passed" in shown.err, shown)
                record = json.loads(shown.out)
                expect([record[key] for key in ("m", "n", "nrhs", "info", "passed")] == [0, 0, 1, 0, True], shown)
                expect(read_array(x) == [[]], shown)


@test
@in_folder
def solve_with_a_singular_matrix_says_so_and_writes_nothing(folder):
    a = write_matrix(folder, "a.mtx", ["3 3 2", "1 1 2", "2 2 4"])
    x = os.path.join(folder, "x.mtx")
    shown = basalt("solve", a, "-o", x, "--json", "-")
    expect(shown.status == 1 and "info 3  no solution" in shown.err, shown)
    expect(f"basalt: {a} is singular: U(3, 3) is exactly zero" in shown.err and not os.path.exists(x), shown)
    record = json.loads(shown.out)
    expect([record[key] for key in ("info", "residual_ratio", "passed")] == [3, None, None], shown)


@test
@in_folder
def solve_refines_factors_of_low_precision(folder):
    x = os.path.join(folder, "x.mtx")
    for arguments, precision in (([], "s"), (["--mode", "gpu", "--emulated-gpus", "1"], "fp16x2"),
                                 (["--mode", "gpu", "--emulated-gpus", "1", "--factor-precision", "fp16"], "fp16")):
        for method, matrix in (("mixed", "random"), ("mixed-cholesky", "spd")):
            shown = basalt("solve", "--n", "200", "--matrix", matrix, "--method", method, *arguments, "--json", "-",
                           "-o", x)
            record = json.loads(shown.out)
            expect(shown.status == 0 and record["passed"] and not record["fallback"], shown)
            expect(record["iterations"] > 0 and record["factor_precision"] == precision, shown)
            expect(record["residual_ratio"] < 1, shown)
    for substitution in (["cores"], ["blocked-backward"], ["blocked", "--substitution-lookahead", "2"]):
        shown = basalt("solve", "--n", "200", "--method", "mixed", "--mode", "gpu", "--emulated-gpus", "1", "--json", "-",
                       "--substitution", *substitution)
        record = json.loads(shown.out)
        expect(shown.status == 0 and record["passed"] and not record["fallback"], shown)
        expect(record["substitution"] == substitution[0] and record["residual_ratio"] < 1, shown)
    trace = os.path.join(folder, "trace.json")
    shown = basalt("solve", "--n", "200", "--matrix", "spd", "--method", "mixed-cholesky", "--mode", "gpu",
                   "--emulated-gpus", "1", "--nb", "4", "--trace", trace)
    with open(trace, encoding="utf-8") as file:
        panels = [event for event in json.load(file)["traceEvents"] if event["name"] == "panel"]
    expect(shown.status == 0 and len(panels) > 200 // 4 - 4, shown)  # the last ones are one kernel
    shown = basalt("solve", "--n", "200", "--matrix", "hilbert", "--method", "mixed", "--json", "-")
    record = json.loads(shown.out)
    expect(shown.status == 0 and record["passed"] and record["fallback"] == (record["iterations"] < 0), shown)
    expect(("fell back to double" in shown.err) == record["fallback"], shown)
    expect_refused(basalt("solve", "--n", "9", "--method", "mixed", "--mode", "cpu", "--factor-precision", "fp16"),
                   "--factor-precision fp16", "cpu")
    expect_refused(basalt("solve", "--n", "9", "--factor-precision", "fp16"), "--factor-precision", "mixed")
    expect_refused(basalt("solve", "--n", "9", "--refinement", "gmres"), "--refinement", "mixed")
    expect_refused(basalt("solve", "--n", "9", "--substitution", "cores"), "--substitution", "mixed")
    expect_refused(basalt("solve", "--n", "9", "--method", "mixed", "--mode", "cpu", "--substitution", "blocked"),
                   "--substitution = blocked", "cpu")
    expect_refused(basalt("solve", "--n", "9", "--method", "mixed", "--substitution-lookahead", "2"),
                   "--substitution-lookahead", "blocked")
    expect_refused(basalt("solve", "--n", "9", "--method", "mixed", "--precision", "s"), "--precision s", "d")


@test
def control_c_ends_every_method_between_and_inside_runs():
    for method, matrix in (("lu", "random"), ("mixed", "random"), ("mixed-cholesky", "spd")):
        for place in ([], ["--mode", "gpu", "--emulated-gpus", "1"]):
            for _ in range(3):
                shown = interrupted("solve", "--n", "500", "--repeat", "100000", "--method", method, "--matrix", matrix,
                                    *place, after="run 1 of")
                expect(shown.status == 130 and shown.err.count("\n") == 1, shown)
                expect(re.fullmatch(r"basalt: interrupted after \d+ of 100000 runs\n", shown.err), shown)


@test
@in_folder
def solve_keeps_each_component_of_badly_scaled_systems(folder):
    n, x = 60, os.path.join(folder, "x.mtx")
    draw = random.Random(1)
    rows = [[draw.uniform(-1, 1) for _ in range(n)] for _ in range(n)]
    scale = [10.0 ** (8 - 16 * (j % 2)) for j in range(n)]
    a = write_matrix(folder, "a.mtx", [f"{n} {n}"] + [repr(rows[i][j] * scale[j]) for j in range(n) for i in range(n)],
                     "array real general")
    b = write_matrix(folder, "b.mtx", [f"{n} 1"] + [repr(math.fsum(row)) for row in rows], "array real general")
    gpu = ["--mode", "gpu", "--emulated-gpus", "1"]
    for arguments in ([], gpu, [*gpu, "--factor-precision", "bf16"], [*gpu, "--factor-precision", "fp16"]):
        shown = basalt("solve", a, b, "-o", x, "--method", "mixed", *arguments)
        expect(shown.status == 0 and "fell back" not in shown.out, shown)
        expect(max(abs(value * c - 1) for value, c in zip(read_array(x)[0], scale)) < 1e-9, shown)


@test
@in_folder
def solve_in_mixed_precision_warns_and_refuses_as_the_others_do(folder):
    draw = random.Random(2)
    twins = [[draw.uniform(-1, 1) for _ in range(16)] for _ in range(16)]
    for row in twins:
        row[5] = row[4]
    a = write_matrix(folder, "a.mtx", ["16 16"] + [repr(twins[i][j]) for j in range(16) for i in range(16)],
                     "array real general")
    gpu = ["--mode", "gpu", "--emulated-gpus", "1"]
    for arguments in ([a, *gpu, "--factor-precision", "fp16"], [a], ["--n", "30", "--matrix", "hilbert"]):
        shown = basalt("solve", *arguments, "--method", "mixed", "--json", "-")
        expect("ill-conditioned" in shown.err, shown)
        expect(json.loads(shown.out)["reciprocal_condition"] < 2.0 ** -53, shown)
    for matrix, method in (("random", "mixed"), ("spd", "mixed-cholesky")):
        shown = basalt("solve", "--n", "100", "--matrix", matrix, "--method", method, "--json", "-", *gpu)
        expect("warning" not in shown.err and 1e-6 < json.loads(shown.out)["reciprocal_condition"] <= 1, shown)
        expect(sum(json.loads(shown.out)["panels"].values()) > 0, shown)
    for name in ("s", "s-plain"):
        shown = basalt("solve", "--n", "50", "--method", "mixed", *gpu, "--factor-precision", name, "--json", "-")
        expect(json.loads(shown.out)["factor_precision"] == name and f"  {name}, " in shown.err, shown)
    shown = basalt("solve", "--n", "50", "--method", "mixed", "--iteration-limit", "0")
    expect(shown.status == 0 and "fell back to double (-31)" in shown.out, shown)
    mixed = ["solve", "--n", "9", "--method", "mixed"]
    expect_refused(basalt(*mixed, *gpu, "--substitution", "blocked", "--refinement", "gmres"),
                   "--substitution blocked with --refinement gmres; allowed: --refinement auto or classic")
    expect_refused(basalt("solve", "--n", "9", "--method", "mixed-cholesky", *gpu, "--substitution", "blocked"),
                   "--substitution blocked with --method mixed-cholesky; allowed: --method mixed")
    expect_refused(basalt("solve", "--n", "9", "--method", "mixed-cholesky", "--panel-threads", "2"),
                   "--panel-threads with --method mixed-cholesky")
    expect_refused(basalt(*mixed, "--mode", "cpu", "--factor-precision", "fp16"), "auto, s, s-plain, or a mode with GPUs")
    expect_refused(basalt("solve", "--n", "9", "--iteration-limit", "3"), "--iteration-limit", "mixed")


@test
@in_folder
def solve_never_passes_a_solution_that_norms_overflow_for(folder):
    """Entries near 1e306, whose products of norms overflow, and a finite matrix whose norm does."""
    a = write_matrix(folder, "a.mtx", ["2 2", "3e306", "1e306", "1e306", "4e306"], "array real general")
    b = write_matrix(folder, "b.mtx", ["2 1", "1e306", "3e306"], "array real general")
    for method in ("lu", "mixed"):
        record = json.loads(basalt("solve", a, b, "--method", method, "--json", "-").out)
        expect_ratio = record["residual_ratio"]
        assert record["passed"] and 0 <= expect_ratio < 30, record
    a = write_matrix(folder, "c.mtx", ["2 2", "1e308", "1e308", "1e308", "-1e308"], "array real general")
    b = write_matrix(folder, "d.mtx", ["2 1", "1e300", "1e300"], "array real general")
    shown = basalt("solve", a, b, "--method", "mixed")
    expect(shown.status == 1 and "FAILED" in shown.out and "A, its norm or B is not finite" in shown.out, shown)


@test
@in_folder
def solve_has_a_method_for_every_shape(folder):
    x = os.path.join(folder, "x.mtx")
    symmetric = write_matrix(folder, "s.mtx", ["2 2 3", "1 1 4", "2 1 1", "2 2 3"], "coordinate integer symmetric")
    tall = write_matrix(folder, "t.mtx", ["3 2", "1", "1", "1", "0", "1", "2"], "array real general")
    wide = write_matrix(folder, "w.mtx", ["1 2", "3", "4"], "array real general")
    three = write_matrix(folder, "3.mtx", ["3 1", "6", "0", "0"], "array real general")
    one = write_matrix(folder, "1.mtx", ["1 1", "50"], "array real general")
    for arguments, routine, method, solution in (
            ([symmetric, "--method", "cholesky"], "posv", "cholesky", [1, 1]),
            ([symmetric, "--method", "qr"], "gels", "qr", [1, 1]), ([symmetric], "gesv", "lu", [1, 1]),
            ([tall, three], "gels", "qr", [5, -3]), ([wide, one], "gels", "qr", [6, 8])):
        for more in ([], ["--precision", "s"]):
            shown = basalt("solve", *arguments, "-o", x, "--json", "-", *more)
            expect(shown.status == 0 and "passed" in shown.err, shown)
            record = json.loads(shown.out)
            expect([record[key] for key in ("routine", "method", "passed")] == [routine, method, True], shown)
            expect(max(abs(f - e) for f, e in zip(read_array(x)[0], solution)) < 1e-4, shown)


@test
def solve_checks_every_method_on_matrices_of_many_tiles():
    for arguments in (["--method", "cholesky", "--matrix", "spd"], ["--method", "qr"], ["--m", "400"], ["--m", "200"],
                      ["--m", "400", "--mode", "gpu", "--emulated-gpus", "2", "--data", "device"],
                      ["--m", "200", "--mode", "hybrid", "--emulated-gpus", "1", "--repeat", "2"]):
        shown = basalt("solve", "--n", "301", "--nb", "32", "--tile", "64x64", *arguments)
        expect(shown.status == 0 and shown.out.count("passed") == (2 if "--repeat" in arguments else 1), shown)


@test
@in_folder
def solve_says_what_a_matrix_lacks_for_a_method(folder):
    indefinite = write_matrix(folder, "i.mtx", ["2 2 2", "1 1 4", "2 2 -3"], "coordinate real symmetric")
    shown = basalt("solve", indefinite, "--method", "cholesky")
    expect(shown.status == 1 and "leading minor of order 2 is not" in shown.err and "--method lu" in shown.err, shown)
    expect(basalt("solve", indefinite).status == 0, shown)
    shown = basalt("solve", "--n", "200", "--matrix", "wilkinson", "--json", "-")
    expect(shown.status == 1 and "FAILED" in shown.err and json.loads(shown.out)["passed"] is False, shown)
    shown = basalt("solve", "--m", "5", "--n", "3", "--matrix", "zero")
    expect(shown.status == 1 and "R(1, 1) is exactly zero" in shown.err, shown)


@test
@in_folder
def solve_warns_of_ill_conditioned_matrices(folder):
    warning = "basalt: warning: the matrix hilbert is ill-conditioned: its reciprocal condition number is about "
    for more in ([], ["--mode", "gpu", "--emulated-gpus", "2"], ["--method", "qr"]):
        shown = basalt("solve", "--n", "30", "--matrix", "hilbert", "--json", "-", *more)
        expect(shown.status == 0 and "passed" in shown.err and warning in shown.err, shown)
        expect(json.loads(shown.out)["reciprocal_condition"] < 2.0 ** -53, shown)
        shown = basalt("solve", "--n", "30", "--matrix", "random", "--json", "-", *more)
        expect("warning" not in shown.err and 1e-6 < json.loads(shown.out)["reciprocal_condition"] <= 1, shown)
    # of single precision, 1e-8 is too little
    nearly = write_matrix(folder, "n.mtx", ["2 2", "1", "0", "0", "1e-8"], "array real general")
    for precision, warned in (("d", False), ("s", True)):
        for method in ("lu", "cholesky", "qr"):
            shown = basalt("solve", nearly, "--precision", precision, "--method", method, "--json", "-")
            expect(("ill-conditioned" in shown.err) == warned, shown)
            expect(abs(json.loads(shown.out)["reciprocal_condition"] - 1e-8) < 1e-13, shown)
    shown = basalt("solve", nearly, "--precision", "s", "--no-check", "--json", "-")
    expect("warning" not in shown.err and json.loads(shown.out)["reciprocal_condition"] is None, shown)


@test
@in_folder
def solve_refuses_what_it_cannot_solve(folder):
    a = write_matrix(folder, "a.mtx", ["2 2", "1", "2", "3", "5"], "array real general")
    b = write_matrix(folder, "b.mtx", ["3 1", "1", "2", "3"], "array real general")
    x = os.path.join(folder, "x.mtx")
    expect_refused(basalt("solve"), "no matrix", "Matrix Market file", "--n")
    expect_refused(basalt("solve", a, b), "b.mtx: 3 rows; allowed: 2, as ", "a.mtx has")
    for method in ("lu", "cholesky"):
        expect_refused(basalt("solve", b, "--method", method), "b.mtx: 3 x 1", f"--method {method}",
                       "as many rows as columns, or --method qr")
    expect_refused(basalt("solve", a, "--method", "cholesky"), "a.mtx: elements (2, 1) and (1, 2) differ by 1",
                   "a symmetric matrix, or --method lu")
    expect_refused(basalt("solve", a, "--matrix", "spd"), "a.mtx and --matrix; allowed: one of them")
    expect_refused(basalt("solve", a, "--n", "3"), "--n = 3; allowed: 2, as in ")
    expect_refused(basalt("solve", a, "--method", "svd"), '--method = "svd"', "allowed: lu, cholesky, qr, mixed")
    for method in ("cholesky", "qr"):
        for option in ("--single-update-task", "--broadcast-from-host", "--plain-solve"):
            expect_refused(basalt("solve", "--n", "9", "--matrix", "spd", "--method", method, option), option,
                           f"with --method {method}; allowed: --method lu")
    for size, banner in (("1000000000000 0 0", "coordinate real general"), ("0 1000000000000 0", "coordinate real general"),
                         ("0 1000000000000", "array real general")):
        no_elements = write_matrix(folder, "long.mtx", [size], banner)
        expect_refused(basalt("solve", no_elements), "needs 40000000000000 bytes", "available", status=3)
    expect_refused(basalt("solve", a, "-o", "/nowhere/x"), "-o", "/nowhere/x")
    expect_refused(basalt("solve", a, "-o", "-"), '-o = "-"')
    expect_refused(basalt("solve", folder), folder, "is a folder")
    expect_refused(basalt("solve", a, os.path.join(folder, "none.mtx"), "-o", x), "none.mtx: No such file")
    wrong = write_matrix(folder, "wrong.mtx", ["2 1", "1", "nan"], "array real general")
    expect_refused(basalt("solve", a, wrong, "-o", x), 'wrong.mtx:4: value "nan"')
    assert not os.path.exists(x)


main()
