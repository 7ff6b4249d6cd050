"""`batch`: many small matrices on cores."""

import json

from program import basalt, expect, expect_refused, main, test

ROUTINES = {("cholesky", False): "potrf_batched", ("cholesky", True): "posv_batched", ("lu", False): "getrf_batched",
            ("lu", True): "gesv_batched", ("qr", False): "geqrf_batched", ("qr", True): "gels_batched"}


@test
def batch_factors_solves_checks_and_writes_records():
    for (method, solve), routine in ROUTINES.items():
        for precision in "sd":
            for n, count in ((1, 1), (8, 300), (33, 40)):
                shown = basalt("batch", method, "--n", str(n), "--count", str(count), "--precision", precision,
                               "--cpus", "2", "--json", "-", "--repeat", "2", *(["--solve"] if solve else []))
                expect(shown.status == 0 and shown.err.count("passed") == 2 and "median of 2" in shown.err, shown)
                record = json.loads(shown.out)
                expect([record[key] for key in ("routine", "precision", "m", "n", "count", "failed", "passed")] ==
                       [routine, precision, n, n, count, 0, True], shown)
                expect(len(record["runs"]) == 2 and 0 <= record["residual_ratio"] < 30 and record["gflops"] > 0 and
                       ("nrhs" in record) == solve, shown)


@test
def batch_qr_takes_tall_and_wide_matrices():
    for m, n in ((40, 9), (9, 40)):
        for more in ([], ["--solve", "--nrhs", "3"]):
            shown = basalt("batch", "qr", "--m", str(m), "--n", str(n), "--count", "60", "--json", "-", *more)
            record = json.loads(shown.out)
            expect(shown.status == 0 and [record["m"], record["n"], record["passed"]] == [m, n, True], shown)


@test
def batch_without_check_says_so():
    shown = basalt("batch", "lu", "--n", "5", "--count", "10", "--no-check", "--json", "-")
    record = json.loads(shown.out)
    expect(shown.status == 0 and "not checked" in shown.err and record["passed"] is None and
           record["residual_ratio"] is None, shown)


@test
def batch_refuses_what_it_does_not_know():
    expect_refused(basalt("batch"), "batch", "cholesky, lu, qr")
    expect_refused(basalt("batch", "svd"), '"svd"', "cholesky, lu, qr")
    expect_refused(basalt("batch", "lu", "--n", "0"), "--n", '"0"', "1 to 4096")
    expect_refused(basalt("batch", "lu", "--m", "7"), "--m 7", "qr")
    expect_refused(basalt("batch", "lu", "--precision", "x"), "--precision", '"x"', "s, d")
    expect_refused(basalt("batch", "lu", "--nb", "8"), "--nb", "--count")


main()
