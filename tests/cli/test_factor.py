"""`lu`, `qr` and `cholesky` on cores and in all modes."""

import json
import os
import re

from program import basalt, expect, expect_refused, in_folder, main, test


@test
def lu_prints_one_line_a_run():
    for precision in "ds":
        shown = basalt("lu", "--n", "150", "--nb", "32", "--precision", precision, "--repeat", "3")
        expect(shown.status == 0 and shown.err == "", shown)
        lines = shown.out.splitlines()
        expect(len(lines) == 4 and all("passed" in line and "150 x 150" in line for line in lines[:3]), shown)


@test
def repeated_runs_end_with_their_median():
    for command in (["lu"], ["qr"], ["cholesky"], ["solve"]):
        shown = basalt(*command, "--n", "60", "--repeat", "3", "--json", "-")
        lines, record = shown.err.splitlines(), json.loads(shown.out)
        found = re.search(r"60 x 60.*  median of 3 runs  (\d+\.\d{4}) s  (\S+) Gflop/s$", lines[-1])
        expect(shown.status == 0 and len(lines) == 4 and found, shown)
        expect(abs(float(found.group(1)) - record["seconds"]) <= 0.5e-4 and
               abs(float(found.group(2)) - record["gflops"]) <= 0.01, shown)
        expect("median" not in basalt(*command, "--n", "60").out, shown)


@test
def lines_and_records_say_where_panels_were_factored():
    system = ["--n", "128", "--nb", "32", "--tile", "64x64", "--cpus", "2", "--json", "-"]
    for command in (["lu"], ["qr"], ["cholesky"], ["solve"]):
        shown = basalt(*command, *system)
        expect("mode cpu, 2 cores, 4 panels" in shown.err and
               json.loads(shown.out)["panels"] == {"cores": 4, "gpus": 0}, shown)
        shown = basalt(*command, *system, "--mode", "gpu", "--emulated-gpus", "2")
        expect("mode gpu, 2 emulated GPUs, panels: 0 on cores, 4 on GPUs" in shown.err, shown)
        expect(json.loads(shown.out)["panels"] == {"cores": 0, "gpus": 4}, shown)
        shown = basalt(*command, *system, "--mode", "hybrid", "--emulated-gpus", "1", "--gpu-panels-below", "0")
        expect("mode hybrid, 2 cores + 1 emulated GPU, panels: 4 on cores, 0 on GPUs" in shown.err, shown)
        shown = basalt(*command, *system, "--mode", "hybrid", "--emulated-gpus", "1", "--gpu-panels-below", "64")
        panels = json.loads(shown.out)["panels"]
        expect(panels["cores"] >= 1 and panels["gpus"] >= 2 and sum(panels.values()) == 4, shown)


@test
def lu_takes_any_shape():
    for m, n in ((0, 0), (0, 5), (5, 0), (1, 1), (300, 40), (40, 300), (129, 127)):
        shown = basalt("lu", "--m", str(m), "--n", str(n), "--nb", "16", "--tile", "48x32", "--cpus", "2")
        expect(shown.status == 0 and "passed" in shown.out, shown)


@test
def lu_writes_one_json_record_a_call_and_human_lines_to_stderr():
    shown = basalt("lu", "--m", "200", "--n", "100", "--nb", "32", "--tile", "64x64", "--json", "-",
                   "--repeat", "2", "--cpus", "2")
    expect(shown.status == 0 and shown.out.count("\n") == 1 and "passed" in shown.err, shown)
    record = json.loads(shown.out)
    keys = ("routine precision m n nb tile mode cpus gpus emulated data seconds gflops residual_ratio passed info "
            "runs machine commit panels")
    expect(list(record) == keys.split(), shown)
    expect(record["routine"] == "getrf" and record["precision"] == "d" and record["mode"] == "cpu", shown)
    expect([record[key] for key in ("m", "n", "nb", "tile", "cpus")] == [200, 100, 32, "64x64", 2], shown)
    expect(len(record["runs"]) == 2 and record["passed"] is True, shown)
    expect(0 <= record["residual_ratio"] < 30, shown)


@test
@in_folder
def lu_appends_records_to_a_file(folder):
    path = os.path.join(folder, "runs.json")
    for _ in range(2):
        shown = basalt("lu", "--n", "64", "--json", path)
        expect(shown.status == 0 and "passed" in shown.out, shown)
    with open(path, encoding="utf-8") as records:
        assert [json.loads(line)["n"] for line in records] == [64, 64]


@test
@in_folder
def lu_writes_a_trace_with_a_row_a_worker(folder):
    path = os.path.join(folder, "trace.json")
    shown = basalt("lu", "--n", "200", "--nb", "32", "--cpus", "2", "--trace", path)
    expect(shown.status == 0, shown)
    with open(path, encoding="utf-8") as trace:
        events = json.load(trace)["traceEvents"]
    rows = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
    tasks = [event for event in events if event["ph"] == "X"]
    expect(len(rows) >= 2 and tasks and all("priority" in task["args"] for task in tasks), shown)
    expect(any("panel" in task["name"] for task in tasks), shown)


@test
def qr_takes_any_shape_and_mode():
    for m, n in ((0, 0), (0, 5), (5, 0), (1, 1), (300, 40), (40, 300), (129, 127)):
        for more in (["--precision", "s"], ["--mode", "gpu", "--emulated-gpus", "2"],
                     ["--mode", "hybrid", "--emulated-gpus", "1", "--data", "device"],
                     ["--mode", "hybrid", "--emulated-gpus", "2", "--gpu-panels-below", "100"]):
            shown = basalt("qr", "--m", str(m), "--n", str(n), "--nb", "16", "--tile", "48x32", "--cpus", "2", *more)
            expect(shown.status == 0 and "passed" in shown.out, shown)


@test
def qr_writes_a_record_and_refuses_options_of_lu():
    shown = basalt("qr", "--m", "200", "--n", "100", "--nb", "32", "--tile", "64x64", "--json", "-", "--repeat", "2")
    expect(shown.status == 0 and shown.out.count("\n") == 1 and "passed" in shown.err, shown)
    record = json.loads(shown.out)
    expect([record[key] for key in ("routine", "m", "n", "nb", "tile", "mode", "passed")] ==
           ["geqrf", 200, 100, 32, "64x64", "cpu", True], shown)
    expect(len(record["runs"]) == 2 and 0 <= record["residual_ratio"] < 30, shown)
    expect_refused(basalt("qr", "--single-update-task"), "--single-update-task", "--nb")
    expect_refused(basalt("qr", "--n", "-1"), "--n", '"-1"', "0 to")
    expect_refused(basalt("qr", "--gpu-panels-below", "-2"), "--gpu-panels-below", '"-2"', "-1: chosen")


@test
def qr_by_tiles_takes_any_shape_on_cores_alone():
    for m, n in ((0, 0), (0, 5), (1, 1), (300, 40), (40, 300), (129, 127)):
        for more in (["--precision", "s"], ["--tree", "always", "--tile", "32x16"], ["--inner-width", "5"]):
            shown = basalt("qr", "--m", str(m), "--n", str(n), "--method", "tile", "--cpus", "2", *more)
            expect(shown.status == 0 and "passed" in shown.out, shown)
    for shape, method in ((["--m", "2000", "--n", "20"], "tile"), (["--n", "100"], "blocked")):
        for more in ([], ["--panel-threads", "2"], ["--inner-width", "8"]):  # what the choice does not use is no error
            shown = basalt("qr", *shape, "--method", "auto", "--cpus", "2", "--json", "-", *more)
            expect(shown.status == 0 and json.loads(shown.out)["method"] == method, shown)
    for mode in ("gpu", "hybrid"):
        on_gpus = ["qr", "--n", "50", "--mode", mode, "--emulated-gpus", "1"]
        expect_refused(basalt(*on_gpus, "--method", "tile"), "--method tile", mode, "blocked, auto, or --mode cpu")
        expect_refused(basalt(*on_gpus, "--tree", "always"), "--tree always", mode, "auto, never, or --mode cpu")
    expect_refused(basalt("qr", "--method", "tile", "--panel-threads", "2"), "--panel-threads 2", "blocked or auto")
    expect_refused(basalt("qr", "--method", "tiles"), "--method", '"tiles"', "blocked, tile, auto")
    expect_refused(basalt("qr", "--tree", "yes"), "--tree", '"yes"', "auto, never, always")
    expect_refused(basalt("qr", "--inner-width", "8"), "--inner-width", "--method tile or auto")


@test
def cholesky_runs_in_every_mode_and_writes_a_record():
    for n in (0, 1, 130):
        for more in (["--precision", "s"], ["--mode", "gpu", "--emulated-gpus", "2"],
                     ["--mode", "hybrid", "--emulated-gpus", "1", "--data", "device"],
                     ["--mode", "hybrid", "--emulated-gpus", "2", "--gpu-panels-below", "0"],
                     ["--mode", "hybrid", "--emulated-gpus", "1", "--gpu-panels-below", "0", "--rows-on-cores"],
                     ["--mode", "hybrid", "--emulated-gpus", "2", "--gpu-panels-below", "70"]):
            shown = basalt("cholesky", "--n", str(n), "--nb", "16", "--tile", "48x32", "--cpus", "2", *more)
            expect(shown.status == 0 and "passed" in shown.out, shown)
    shown = basalt("cholesky", "--n", "100", "--nb", "32", "--tile", "64x64", "--json", "-", "--repeat", "2")
    record = json.loads(shown.out)
    expect([record[key] for key in ("routine", "m", "n", "nb", "tile", "mode", "info", "passed")] ==
           ["potrf", 100, 100, 32, "64x64", "cpu", 0, True], shown)
    expect(len(record["runs"]) == 2 and 0 <= record["residual_ratio"] < 30, shown)


@test
def cholesky_factors_the_upper_triangle_in_every_mode():
    for n in (0, 1, 130):
        for more in (["--precision", "s"], ["--mode", "gpu", "--emulated-gpus", "2"],
                     ["--mode", "gpu", "--emulated-gpus", "2", "--left-looking"],
                     ["--mode", "hybrid", "--emulated-gpus", "2", "--gpu-panels-below", "0"]):
            shown = basalt("cholesky", "--upper", "--n", str(n), "--nb", "16", "--tile", "48x32", "--cpus", "2", *more)
            expect(shown.status == 0 and "(upper)" in shown.out and "passed" in shown.out, shown)
    for option, triangle in ((["--upper"], "upper"), ([], "lower")):
        record = json.loads(basalt("cholesky", "--n", "50", "--json", "-", *option).out)
        expect(record["triangle"] == triangle and record["passed"] and "looking" not in record, record)


@test
@in_folder
def cholesky_looks_left_or_right_as_it_is_asked_to(folder):
    path = os.path.join(folder, "trace.json")
    system = ["cholesky", "--n", "256", "--nb", "32", "--tile", "64x64", "--mode", "gpu", "--emulated-gpus", "1"]
    updates = {}
    for looking in ("left", "right"):
        shown = basalt(*system, f"--{looking}-looking", "--json", "-", "--trace", path)
        record = json.loads(shown.out)
        expect(shown.status == 0 and record["passed"] and record["looking"] == looking, shown)
        names = json.loads(basalt("trace", path, "--json", "-").out)["names"]
        updates[looking] = {name["name"]: name["count"] for name in names if "update" in name["name"]}
    expect(updates["left"] != updates["right"], updates)
    for option in ("--left-looking", "--right-looking"):
        for mode in ("cpu", "hybrid"):
            expect_refused(basalt("cholesky", "--n", "50", "--mode", mode, option, env={"BASALT_EMULATED_GPUS": "1"}),
                           f"{option} with --mode {mode}; allowed: --mode gpu or auto")
    expect_refused(basalt("cholesky", "--n", "50", "--right-looking"),
                   "--right-looking where the mode is cpu; allowed: --mode gpu")
    for option in ("--left-looking", "--right-looking"):
        expect_refused(basalt("cholesky", "--n", "50", "--gpus", "0", option), f"{option} with --gpus 0; allowed: ")
    shown = basalt("cholesky", "--n", "50", "--left-looking")
    expect(shown.status == 3 and "--left-looking needs a GPU" in shown.err, shown)
    expect_refused(basalt("cholesky", "--left-looking", "--right-looking"), "--left-looking", "--right-looking")
    expect_refused(basalt("cholesky", "--n", "50", "--mode", "gpu", "--emulated-gpus", "2", "--left-looking"),
                   "lower triangle on 2 GPUs", "one GPU, or the upper triangle")
    expect_refused(basalt("lu", "--n", "50", "--upper"), "--upper")


@test
def cholesky_says_what_is_wrong_with_a_matrix():
    expect_refused(basalt("cholesky", "--n", "40", "--matrix", "random"), "random", "symmetric")
    expect_refused(basalt("cholesky", "--n", "40", "--m", "41"), "--m", "square")
    shown = basalt("cholesky", "--n", "40", "--matrix", "zero", "--json", "-")
    expect(shown.status == 1 and json.loads(shown.out)["info"] == 1 and "not positive definite" in shown.err, shown)


@test
@in_folder
def cholesky_has_its_panels_factored_by_whom_it_is_asked_to(folder):
    expect_refused(basalt("cholesky", "--gpu-panels-below", "-2"), "--gpu-panels-below", '"-2"', "-1: chosen")
    expect_refused(basalt("cholesky", "--n", "50", "--mode", "gpu", "--emulated-gpus", "1", "--rows-on-cores"),
                   "--rows-on-cores", "hybrid or auto")
    path = os.path.join(folder, "trace.json")
    system = ["--n", "256", "--nb", "32", "--tile", "64x64", "--mode", "hybrid", "--emulated-gpus", "1",
              "--trace", path]
    for below, places in (("0", ["cpu"]), ("128", ["compute", "cpu"]), ("256", ["compute"])):
        for command in (["cholesky"], ["solve", "--method", "cholesky", "--matrix", "spd"]):
            shown = basalt(*command, *system, "--gpu-panels-below", below)
            expect(shown.status == 0 and "passed" in shown.out, shown)
            shown = basalt("trace", path, "--json", "-")
            names = json.loads(shown.out)["names"]
            expect(sorted(name["on"] for name in names if name["name"] == "panel") == places, shown)


@test
def lu_without_check_reports_no_ratio():
    shown = basalt("lu", "--n", "64", "--no-check", "--json", "-")
    expect(shown.status == 0 and "not checked" in shown.err, shown)
    record = json.loads(shown.out)
    expect(record["residual_ratio"] is None and record["passed"] is None, shown)


@test
def lu_reports_exact_singularity_as_lapack_does():
    shown = basalt("lu", "--n", "50", "--matrix", "zero", "--json", "-")
    expect(json.loads(shown.out)["info"] == 1 and "info 1" in shown.err, shown)


@test
def lu_lists_its_generators():
    shown = basalt("lu", "--matrix", "list")
    expect(shown.status == 0, shown)
    for name in ("random", "hpl", "spd", "hilbert", "wilkinson", "graded", "deficient", "orthogonal", "zero"):
        expect(re.search(rf"^{name} ", shown.out, re.MULTILINE), shown)


@test
def lu_refuses_values_that_are_not_allowed():
    for option, value, allowed in (("--n", "-1", "0 to"), ("--m", "many", "0 to"), ("--nb", "1e3", "0 to"),
                                   ("--tile", "0x4", "HEIGHTxWIDTH"), ("--precision", "q", "s, d"),
                                   ("--mode", "fast", "auto, cpu, hybrid, gpu"), ("--cpus", "-2", "0 to"),
                                   ("--scheduler", "luck", "fifo"), ("--seed", "-1", "0 to"),
                                   ("--repeat", "0", "1 to"), ("--matrix", "bitmap", "hilbert"),
                                   ("--data", "tape", "host, device"), ("--gpus", "x", "-1 to 8"),
                                   ("--emulated-gpus", "9", "0 to 8"), ("--gpu-mem", "3GB", "K, M, G or T"),
                                   ("--gpu-mem", "-1", "K, M, G or T"), ("--gpu-mem", "16777216T", "below 2^64"),
                                   ("--lookahead", "-2", "-1 to"), ("--gpu-panels-below", "-2", "-1: chosen"),
                                   ("--panel-threads", "x", "0 to")):
        expect_refused(basalt("lu", option, value), option, f'"{value}"', allowed)


main()
