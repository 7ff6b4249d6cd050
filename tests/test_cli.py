"""The program `basalt` as scripts see it: exit status, what goes to stdout and stderr, files it writes.

usage: test_cli.py PROGRAM HPL_DAT [TEST...]    HPL_DAT is any valid input; its N and NB lines are replaced
Ends with "cases: N passed, M failed, 0 skipped".
"""

import glob
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import xml.etree.ElementTree

PROGRAM, HPL_DAT = map(os.path.abspath, sys.argv[1:3])
tests = []


def test(function):
    tests.append(function)
    return function


class Result:
    def __init__(self, finished):
        self.status, self.out, self.err = finished.returncode, finished.stdout, finished.stderr


def environment(extra):
    """Without settings of ours, the GPUs that the machine may have and what was learnt: these tests know what comes out."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("BASALT_")}
    return {**clean, "CUDA_VISIBLE_DEVICES": "", "BASALT_MODELS": "none", **extra}


def basalt(*arguments, env={}, **options):
    """Runs the program and returns its status, stdout and stderr as text."""
    return Result(subprocess.run([PROGRAM, *arguments], env=environment(env), stdin=subprocess.DEVNULL,
                                 capture_output=True, text=True, errors="replace", timeout=120, **options))


def expect(condition, result):
    if not condition:
        out, err = result.out[-2000:], result.err[-2000:]
        raise AssertionError(f"status {result.status}\nstdout:\n{out}\nstderr:\n{err}")


def expect_refused(result, *words, status=2):
    """Nothing on stdout, one line on stderr that has all the words."""
    expect(result.status == status and result.out == "" and result.err.count("\n") == 1, result)
    expect(result.err.startswith("basalt: ") and all(word in result.err for word in words), result)


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


# --- every subcommand -----------------------------------------------------------------------------------


@test
def help_version_and_verbose_are_known_everywhere():
    for command in ([], ["info"], ["hpl"], ["cholesky"], ["lu"], ["qr"], ["solve"], ["trace"]):
        shown = basalt(*command, "--help")
        expect(shown.status == 0 and "--help" in shown.out and shown.err == "", shown)
        expect("--version" in shown.out and "--verbose" in shown.out, shown)
        shown = basalt(*command, "--version")
        expect(shown.status == 0 and re.fullmatch(r"basalt \d+\.\d+\.\d+ \(\w+\)\n", shown.out), shown)


@test
def wrong_use_names_what_is_wrong_and_what_is_allowed():
    expect_refused(basalt(), "no subcommand", "info, hpl, cholesky, lu, qr, solve, trace")
    expect_refused(basalt("bake"), "bake", "info, hpl, cholesky, lu, qr, solve, trace")
    expect_refused(basalt("lu", "info"), "info", "--matrix")
    expect_refused(basalt("lu", "--taste", "3"), "--taste", "--matrix", "--nb")
    expect_refused(basalt("lu", "--n"), "--n", "basalt lu --help")


@test
def unknown_variables_and_bad_values_in_the_environment_are_refused():
    unknown = basalt("info", env={"BASALT_COLOUR": "grey"})
    expect_refused(unknown, "BASALT_COLOUR", "BASALT_WORKERS", "BASALT_NB")
    expect_refused(basalt("info", env={"BASALT_WORKERS": "many"}), 'BASALT_WORKERS = "many"', "0 to 1024")
    expect_refused(basalt("info", env={"BASALT_SCHEDULER": "luck"}), "BASALT_SCHEDULER", "fifo", "priority")
    expect_refused(basalt("info", env={"BASALT_WINDOW": ""}), 'BASALT_WINDOW = ""', "1 to")


@test
def info_shows_the_machine_and_where_each_setting_came_from():
    shown = basalt("info", "--tile", "32x64", env={"BASALT_NB": "48", "BASALT_WORKERS": "400"})
    expect(shown.status == 0 and shown.err == "", shown)
    for words in ("affinity mask", "CPU quota", "NUMA node 0", "memory limit", "locked memory", "OpenBLAS", "hwloc",
                  "oneTBB", "CUDA  "):
        expect(words in shown.out, shown)
    expect(re.search(r"BASALT_NB +48 +from BASALT_NB ", shown.out), shown)
    expect(re.search(r"BASALT_TILE +32x64 +from --tile ", shown.out), shown)
    expect(re.search(r"BASALT_MODE +auto +from default ", shown.out), shown)
    expect("warning: 400 workers (BASALT_WORKERS) share" in shown.out, shown)


@test
def info_warns_about_kernels_that_are_too_old_for_the_processor():
    shown = basalt("info", env={"OPENBLAS_CORETYPE": "Haswell"})
    expect(shown.status == 0, shown)
    too_old = "AVX-512" in shown.out.split("libraries")[0] and "kernels for Haswell" in shown.out
    expect(("OPENBLAS_CORETYPE=SkylakeX" in shown.out) == too_old, shown)


@test
def info_tells_gpus_or_why_there_are_none():
    for cap, size in (("3M", "3.0 MiB"), ("3G", "3.0 GiB")):
        shown = basalt("info", "--emulated-gpus", "1", env={"BASALT_GPU_MEM": cap})
        expect(shown.status == 0, shown)
        expect(re.search(rf"emulated GPUs +1 of {size} each \(--emulated-gpus\)", shown.out), shown)
    expect(re.search(r"GPUs +none: (built without CUDA|no NVIDIA driver|.*detected)", shown.out), shown)
    expect("warning: emulated GPUs (--emulated-gpus)" in shown.out, shown)
    versions = r"built with \d+\.\d, runtime \d+\.\d, driver (none|for \d+\.\d)"
    expect(re.search(rf"CUDA +(built without|{versions})\n", shown.out), shown)
    expect("emulated" not in re.split("settings", basalt("info").out)[0], shown)


@test
@in_folder
def a_tuning_file_takes_the_place_of_the_tables_and_is_refused_where_it_is_wrong(folder):
    path = os.path.join(folder, "tuning.json")
    with open(path, "w", encoding="utf-8") as out:
        out.write('{"gpu": {"sm_90": {"lu": {"smallest_order": 10}}}}')
    for more, mode in (([], "cpu"), (["--tuning", path], "gpu")):
        shown = basalt("lu", "--n", "64", "--emulated-gpus", "1", "--json", "-", *more)
        expect(shown.status == 0 and json.loads(shown.out)["mode"] == mode, shown)
    shown = basalt("info", "--emulated-gpus", "1", env={"BASALT_TUNING": path})
    expect(f"tuning ({path})" in shown.out and re.search(r"emulated GPUs +sm_90\n", shown.out), shown)
    expect("tuning (built-in tables)" in basalt("info").out, shown)
    with open(path, "w", encoding="utf-8") as out:
        out.write('{"gpu": {"sm_90": {"lu": {"smallest_order": "few"}}}}')
    expect_refused(basalt("lu", "--n", "9", "--tuning", path), path, 'gpu.sm_90.lu.smallest_order = "few"', "0 to ")
    expect_refused(basalt("info", env={"BASALT_TUNING": "/nowhere.json"}), "/nowhere.json", "No such file", "a tuning file")


@test
@in_folder
def auto_takes_the_mode_that_was_fastest(folder):
    models, tuning = os.path.join(folder, "cache", "models.json"), os.path.join(folder, "tuning.json")
    with open(tuning, "w", encoding="utf-8") as out:
        out.write('{"gpu": {"sm_90": {"lu": {"smallest_order": 10}, "cholesky": {"smallest_order": 10}, '
                  '"qr": {"least_work": 1}}}}')

    def mode_of(command, *arguments):
        shown = basalt(command, "--n", "96", "--emulated-gpus", "1", "--cpus", "2", "--tuning", tuning, "--models", models,
                       "--json", "-", "--verbose", *arguments)
        expect(shown.status == 0, shown)
        return json.loads(shown.out)["mode"], shown.err

    expect_refused(basalt("lu", "--n", "9", "--models", ""), '--models = ""', "auto, none")
    for command, routine in ("lu", "getrf"), ("cholesky", "potrf"), ("qr", "geqrf"):
        mode, told = mode_of(command, "--repeat", "3")
        assert mode == "gpu" and "by the tuning tables, since nothing was learnt" in told, (mode, told)
        assert mode_of(command, "--mode", "cpu", "--repeat", "3")[0] == "cpu"
        with open(models, encoding="utf-8") as known:
            learnt = json.load(known)
        own = [model for model in learnt["models"] if model["routine"] == routine]
        assert sorted(model["mode"] for model in own) == ["cpu", "gpu"]
        for slow, fast in (("gpu", "cpu"), ("cpu", "gpu")):
            for model in own:
                model["runs"] = [[96, 0.5 if model["mode"] == slow else 0.002]] * 7
            with open(models, "w", encoding="utf-8") as out:
                json.dump(learnt, out)
            mode, told = mode_of(command)
            assert mode == fast and f"mode {fast} (from 7 runs near that size" in told, (mode, told)
    shown = basalt("info", "--models", models)
    expect("getrf d gpu, data on host: n = 96 (7)" in shown.out, shown)
    with open(models, "w", encoding="utf-8") as out:
        out.write("{")
    shown = basalt("lu", "--n", "96", "--models", models)
    expect(shown.status == 0 and shown.err.count(models) >= 2 and models + ".bad" in shown.err, shown)
    with open(models + ".bad", encoding="utf-8") as kept:
        assert kept.read() == "{"
    home = basalt("lu", "--n", "20", env={"BASALT_MODELS": "auto", "XDG_CACHE_HOME": folder})
    expect(home.status == 0 and os.path.exists(os.path.join(folder, "basalt", "models.json")), home)


@test
def a_full_disk_under_stdout_is_a_failure():
    with open("/dev/full", "w", encoding="utf-8") as full:
        process = subprocess.run([PROGRAM, "info"], env=environment({}), stdout=full, stderr=subprocess.PIPE,
                                 timeout=60)
    assert process.returncode == 3 and b"standard output" in process.stderr


# --- lu -------------------------------------------------------------------------------------------------


@test
def lu_prints_one_line_a_run():
    for precision in "ds":
        shown = basalt("lu", "--n", "150", "--nb", "32", "--precision", precision, "--repeat", "3")
        expect(shown.status == 0 and shown.err == "", shown)
        lines = shown.out.splitlines()
        expect(len(lines) == 3 and all("passed" in line and "150 x 150" in line for line in lines), shown)


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
            "runs machine commit")
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
            expect_refused(basalt("cholesky", "--n", "50", "--mode", mode, "--emulated-gpus", "1", option),
                           f"{option} with --mode {mode}; allowed: --mode gpu or auto")
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
    system = ["--n", "256", "--nb", "32", "--tile", "64x64", "--mode", "hybrid", "--emulated-gpus", "1", "--trace", path]
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


@test
@in_folder
def options_that_a_mode_has_not_are_refused_before_the_run(folder):
    path = write_input(folder, hpl_lines("50"))
    for command in (["lu", "--n", "50"], ["hpl", path]):
        expect_refused(basalt(*command, "--mode", "gpu", "--emulated-gpus", "1", "--lookahead", "2"), "lookahead = 2",
                       "mode gpu", "0 or 1")
        expect_refused(basalt(*command, "--mode", "hybrid", "--emulated-gpus", "1", "--lookahead", "3",
                              "--gpu-panels-below", "20"), "lookahead = 3", "gpu_panels_below = 20")
        for option in (["--gpu-panels-below", "20"], ["--single-update-task"], ["--broadcast-from-host"],
                       ["--plain-solve"]):
            expect_refused(basalt(*command, "--mode", "cpu", *option), f"{option[0]} with --mode cpu", "hybrid")
            expect(basalt(*command, "--mode", "auto", *option).status == 0, command)
        for option in (["--gpu-panels-below", "20"], ["--plain-solve"]):
            expect_refused(basalt(*command, "--mode", "gpu", "--emulated-gpus", "1", *option),
                           f"{option[0]} with --mode gpu; allowed: --mode hybrid or auto")
    expect_refused(basalt("qr", "--n", "50", "--gpu-panels-below", "20", env={"BASALT_MODE": "cpu"}), "BASALT_MODE cpu")


@test
@in_folder
def panel_threads_are_refused_where_no_cores_factor_panels_together(folder):
    path = write_input(folder, hpl_lines("50"))
    for command in (["lu", "--n", "50"], ["qr", "--n", "50"], ["hpl", path], ["solve", "--n", "50"]):
        on_gpu = [*command, "--emulated-gpus", "1", "--cpus", "2"]
        expect_refused(basalt(*on_gpu, "--mode", "gpu", "--panel-threads", "2"),
                       "--panel-threads 2 with --mode gpu; allowed: --mode cpu, hybrid or auto")
        expect(basalt(*on_gpu, "--mode", "gpu", "--panel-threads", "0").status == 0, command)
        expect(basalt(*on_gpu, "--mode", "gpu", env={"BASALT_PANEL_THREADS": "2"}).status == 0, command)
        for mode in ("auto", "cpu", "hybrid"):
            expect(basalt(*on_gpu, "--mode", mode, "--panel-threads", "2").status == 0, command)
    expect_refused(basalt("solve", "--n", "50", "--matrix", "spd", "--method", "cholesky", "--panel-threads", "2"),
                   "--panel-threads with --method cholesky; allowed: --method lu or qr")
    shown = basalt("cholesky", "--n", "50", "--panel-threads", "2")
    expect(shown.status == 0 and "--panel-threads changes nothing" in shown.err, shown)
    shown = basalt("cholesky", "--n", "50", env={"BASALT_PANEL_THREADS": "2"})
    expect(shown.status == 0 and shown.err == "", shown)


@test
@in_folder
def lu_and_hpl_say_that_they_need_a_gpu(folder):
    path = write_input(folder, hpl_lines("50"))
    for command in (["lu", "--n", "10"], ["hpl", path]):
        for arguments in (["--mode", "hybrid"], ["--mode", "gpu"], ["--gpus", "1"], ["--data", "device"]):
            shown = basalt(*command, *arguments)
            expect_refused(shown, "GPU", " ".join(arguments), "--emulated-gpus 1", status=3)
        expect_refused(basalt(*command, "--mode", "hybrid", "--gpus", "0"), "--gpus 0", status=3)
        expect_refused(basalt(*command, "--mode", "cpu", "--data", "device"), "--data device", status=3)
        expect_refused(basalt(*command, env={"BASALT_DATA": "device"}), "BASALT_DATA device", status=3)
    expect(basalt("lu", "--n", "10", "--mode", "cpu", "--gpus", "1").status == 0, shown)


def readable_packages():
    """The processor packages whose energy counter this process may read."""
    packages = []
    for zone in glob.glob("/sys/class/powercap/intel-rapl:*"):
        try:
            with open(f"{zone}/name") as name, open(f"{zone}/energy_uj") as energy:
                if zone.count(":") == 1 and name.read().startswith("package"):
                    packages.append(int(energy.read()))
        except OSError:
            pass
    return packages


@test
@in_folder
def lu_and_hpl_measure_energy_where_there_is_a_counter(folder):
    path = write_input(folder, hpl_lines("50"))
    for command, more in ((["lu", "--n", "10"], []), (["hpl", path], []),
                          (["lu", "--n", "10"], ["--mode", "hybrid", "--emulated-gpus", "1"])):
        shown = basalt(*command, "--energy", "--json", "-", *more)
        if not readable_packages():
            expect_refused(shown, "--energy", "no energy counter", "cpu", *(["gpu 0 (it is emulated)"] if more else []),
                           status=3)
            continue
        expect(shown.status == 0 and "Gflop/s per W" in shown.err, shown)
        energy = json.loads(shown.out)["energy"]
        expect(energy["joules"] >= 0 and energy["seconds"] > 0 and energy["watts"] >= 0, shown)
        expect(len(energy["parts"]) == len(readable_packages()), shown)
        expect(("gpu 0" in [part["name"] for part in energy["uncounted"]]) == bool(more), shown)


@test
def lu_runs_on_emulated_gpus_and_says_so_in_its_record():
    for more, data in (([], "host"), (["--data", "device"], "device"), (["--gpu-mem", "400K"], "host"),
                       (["--gpu-mem", "400K", "--data", "device"], "device"),
                       (["--gpu-panels-below", "100"], "host"),
                       (["--single-update-task", "--broadcast-from-host"], "host"), (["--plain-solve"], "host")):
        only_hybrid = more[:1] in (["--plain-solve"], ["--gpu-panels-below"])
        for mode, m, n in (("hybrid", 211, 307), ("gpu", 307, 211))[:1 if only_hybrid else 2]:
            shown = basalt("lu", "--m", str(m), "--n", str(n), "--nb", "32", "--tile", "64x64", "--cpus", "2", "--json",
                           "-", "--mode", mode, "--emulated-gpus", "2", "--repeat", "2", *more)
            expect(shown.status == 0 and shown.err.count("passed") == 2, shown)
            record = json.loads(shown.out)
            expect([record[key] for key in ("mode", "gpus", "emulated", "data")] == [mode, 2, True, data], shown)
    shown = basalt("lu", "--n", "64", "--mode", "cpu", "--emulated-gpus", "2", "--json", "-")
    expect(json.loads(shown.out)["gpus"] == 0 and json.loads(shown.out)["mode"] == "cpu", shown)


@test
def the_mode_auto_takes_gpus_for_large_matrices_only():
    for n, lookahead, mode, gpus in (("300", "-1", "cpu", 0), ("2048", "-1", "gpu", 1), ("2048", "2", "hybrid", 1)):
        shown = basalt("lu", "--n", n, "--precision", "s", "--emulated-gpus", "1", "--lookahead", lookahead,
                       "--no-check", "--json", "-")
        expect(shown.status == 0, shown)
        record = json.loads(shown.out)
        expect([record[key] for key in ("mode", "gpus", "emulated")] == [mode, gpus, gpus > 0], shown)


@test
def little_memory_of_gpus_makes_tiles_smaller_unless_they_are_given():
    for more, tile in (([], "512x512"), (["--gpu-mem", "13M"], "128x128"), (["--gpu-mem", "8M"], "64x64"),
                       (["--gpu-mem", "8M", "--tile", "128x192"], "128x192")):
        shown = basalt("lu", "--n", "2048", "--precision", "s", "--mode", "gpu", "--emulated-gpus", "1", "--no-check",
                       "--json", "-", *more)
        expect(shown.status == 0 and json.loads(shown.out)["tile"] == tile, shown)


@test
@in_folder
def memory_that_can_never_hold_a_task_is_refused_naming_task_and_bytes(folder):
    for cap, allowed in (("20K", 20480), ("1", 0)):  # memory is handed out in units of 512 bytes
        gpus = ["--mode", "hybrid", "--emulated-gpus", "2", "--gpu-mem", cap]
        shown = basalt("lu", "--n", "500", *gpus)
        expect_refused(shown, "gpu 0", f"may use {allowed}", status=3)
        expect(re.search(r"task [\w ]+\(\d+\) needs \d+ bytes", shown.err), shown)
    shown = basalt("hpl", write_input(folder, hpl_lines("500", "32")), *gpus)
    expect(shown.status == 3 and re.search(r"task [\w ]+\(\d+\) needs \d+ bytes of gpu 0", shown.err), shown)


@test
def a_large_cap_makes_emulated_gpus_that_large_and_takes_no_memory_for_it():
    gpus = ["--mode", "gpu", "--emulated-gpus", "1", "--gpu-mem"]
    begin = time.monotonic()
    shown = basalt("lu", "--n", "100", *gpus, "3G")
    expect(shown.status == 0 and time.monotonic() - begin < 2, shown)
    for command in (["lu", "--n", "100"], ["info"]):
        shown = basalt(*command, *gpus, "1000T")
        expect_refused(shown, "gpu_memory = 1099511627776000", "1 emulated GPU", "allowed is up to")


@test
@in_folder
def hpl_runs_on_emulated_gpus(folder):
    path = write_input(folder, hpl_lines("0 1 200 301", "32 50"))
    for more, data in ((["--data", "host"], "host"), ([], "device")):  # HPL does not say where its system begins
        for mode in ("hybrid", "gpu"):
            shown = basalt("hpl", path, "--mode", mode, "--json", "-", *more, env={"BASALT_EMULATED_GPUS": "3"})
            expect(shown.status == 0 and counts(shown.err) == (8, 0, 0), shown)
            records = [json.loads(line) for line in shown.out.splitlines()]
            expect(all(record["gpus"] == 3 and record["mode"] == mode for record in records), shown)
            expect(all(record["data"] == data and record["gpu_peak_bytes"] > 0 for record in records[4:]), shown)


@test
@in_folder
def hpl_names_the_largest_order_that_gpus_hold(folder):
    gpus = ["--mode", "gpu", "--emulated-gpus", "2", "--gpu-mem", "16M", "--nb", "128"]
    found = re.search(r"hpl on GPUs +N up to (\d+) stays in their memory \(NB = 128\)", basalt("info", *gpus).out)
    largest = int(found.group(1))
    expect(1000 < largest < 2049, found)  # 33.5 MB of it would be the matrix alone
    for order, data in ((largest, "device"), (largest + 1, "host")):
        shown = basalt("hpl", write_input(folder, hpl_lines(str(order), "128")), *gpus[:-2], "--json", "-")
        expect(shown.status == 0 and json.loads(shown.out)["data"] == data, shown)
    shown = basalt("hpl", write_input(folder, hpl_lines("9000000", "128")), *gpus[:-2])
    expect_refused(shown, "9000000", "on 2 GPUs it needs", f"the largest N for that is {largest}", status=3)


@test
@in_folder
def a_trace_of_emulated_gpus_has_their_rows(folder):
    path = os.path.join(folder, "trace.json")
    for mode, panels in (["hybrid", "--gpu-panels-below", "0"], "cpu"), (["gpu"], "compute"):
        shown = basalt("lu", "--n", "256", "--nb", "32", "--tile", "64x64", "--mode", *mode, "--emulated-gpus", "2",
                       "--trace", path)
        expect(shown.status == 0, shown)
        expect_rows_of_two_gpus(path, panels)


def expect_rows_of_two_gpus(path, panels):
    shown = basalt("trace", path, "--json", "-")
    expect(shown.status == 0, shown)
    numbers = json.loads(shown.out)
    expect([device["name"] for device in numbers["devices"]] == ["gpu 0", "gpu 1"], shown)
    expect(all(device["tasks"] > 0 and device["gaps"]["dependent_tasks"] > 0 for device in numbers["devices"]), shown)
    for direction in ("from host", "to host"):
        moved = sum(copy["bytes"] for copy in numbers["directions"] if copy["direction"] == direction)
        expect(moved >= 8 * 256 * 256, shown)
    expect([name["on"] for name in numbers["names"] if name["name"] == "panel"] == [panels], shown)
    steps = [step for step in numbers["steps"] if step["step"] >= 0]
    expect(len(steps) == 8 and all(step["compute_seconds"] > 0 for step in steps), shown)


@test
@in_folder
def the_log_of_panels_is_in_the_trace_its_summary_and_its_chart(folder):
    path, chart = os.path.join(folder, "trace.json"), os.path.join(folder, "chart.svg")
    arguments = ("lu", "--n", "256", "--nb", "32", "--tile", "64x64", "--mode", "gpu", "--emulated-gpus", "2")
    shown = basalt(*arguments, "--trace", path, "--panel-log")
    expect(shown.status == 0, shown)
    shown = basalt("trace", path, "--svg", chart)
    expect("time by state of 2 blocks inside kernels" in shown.out and "search+update" in shown.out, shown)
    with open(chart, encoding="utf-8") as drawn:
        text = drawn.read()
    expect("gpu 1 panel block 0" in text and ">row moves<" in text, shown)
    shown = basalt("trace", path, "--json", "-")
    numbers = json.loads(shown.out)
    expect(numbers["blocks"] == 2 and all(state["seconds"] >= 0 for state in numbers["block_states"]), shown)
    in_panels = sum(name["seconds"] for name in numbers["names"] if (name["name"], name["on"]) == ("panel", "compute"))
    expect(0 < sum(state["seconds"] for state in numbers["block_states"]) <= in_panels, shown)
    expect_refused(basalt(*arguments, "--panel-log"), "--panel-log", "--trace FILE")
    expect_refused(basalt(*arguments, "--panel-log", "--trace", path, "--precision", "s"), "panel_log", "float")


@test
def tf32_is_an_option_of_single_precision_on_gpus_and_checked_by_its_own_roundoff():
    arguments = ("lu", "--n", "300", "--nb", "32", "--tile", "64x64", "--mode", "gpu", "--emulated-gpus", "1", "--json", "-")
    plain = basalt(*arguments, "--precision", "s")
    shown = basalt(*arguments, "--precision", "s", "--tf32")
    expect(plain.status == 0 and shown.status == 0 and "(tf32)" in shown.err, shown)
    expect("tf32" not in json.loads(plain.out) and json.loads(shown.out)["tf32"] is True, shown)
    expect(json.loads(shown.out)["residual_ratio"] < 30, shown)
    expect_refused(basalt(*arguments, "--tf32"), "tf32", "double")
    expect_refused(basalt("lu", "--n", "10", "--precision", "s", "--mode", "cpu", "--tf32"), "tf32", "cpu", "gpu")


@test
def a_matrix_that_cannot_fit_is_refused_with_the_bytes_needed_and_available():
    for arguments in (["--n", "20000000"], ["--m", "4000000000", "--n", "2000000000"],
                      ["--m", "0", "--n", "1099511627776"], ["--n", "10", "--tile", "1048576x1048576"]):
        shown = basalt("lu", *arguments)
        expect_refused(shown, "needs", "available", "bytes", status=3)
    limited = basalt("lu", "--n", "20000",
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)))
    expect_refused(limited, "ulimit", status=3)
    expect(re.search(r"needs 3[23]\d{8} bytes", limited.err), limited)


@test
def files_that_cannot_be_written_are_refused_before_the_run():
    expect_refused(basalt("lu", "--n", "10", "--json", "/nowhere/a.json"), "--json", "/nowhere/a.json")
    expect_refused(basalt("lu", "--n", "10", "--trace", "/nowhere/a.json"), "--trace", "/nowhere/a.json")


@test
def control_c_drains_and_reports_what_was_done():
    process = subprocess.Popen([PROGRAM, "lu", "--n", "600", "--repeat", "1000000"], env=environment({}),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, (process.returncode, err)
    assert "interrupted after" in err and time.monotonic() - sent < 20, err


# --- Matrix Market files -------------------------------------------------------------------------------


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


# --- solve ----------------------------------------------------------------------------------------------


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
        expect(shown.status == 0 and shown.out.count("passed") == shown.out.count("\n"), shown)


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
    expect_refused(basalt("solve", a, "--method", "mixed"), '--method = "mixed"', "allowed: lu, cholesky, qr")
    for method in ("cholesky", "qr"):
        for option in ("--single-update-task", "--broadcast-from-host", "--plain-solve"):
            expect_refused(basalt("solve", "--n", "9", "--matrix", "spd", "--method", method, option), option,
                           f"with --method {method}; allowed: --method lu")
    for size in ("1000000000000 0 0", "0 1000000000000 0"):
        no_elements = write_matrix(folder, "long.mtx", [size])
        expect_refused(basalt("solve", no_elements), "needs 40000000000000 bytes", "available", status=3)
    expect_refused(basalt("solve", a, "-o", "/nowhere/x"), "-o", "/nowhere/x")
    expect_refused(basalt("solve", a, "-o", "-"), '-o = "-"')
    expect_refused(basalt("solve", folder), folder, "is a folder")
    expect_refused(basalt("solve", a, os.path.join(folder, "none.mtx"), "-o", x), "none.mtx: No such file")
    wrong = write_matrix(folder, "wrong.mtx", ["2 1", "1", "nan"], "array real general")
    expect_refused(basalt("solve", a, wrong, "-o", x), 'wrong.mtx:4: value "nan"')
    assert not os.path.exists(x)


# --- hpl ------------------------------------------------------------------------------------------------


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
    path = write_input(folder, hpl_lines("100", "32", **{**grids, "line_11": "2 2"}))
    shown = basalt("hpl", path)
    expect(shown.status == 1 and counts(shown.out) == (0, 0, 2), shown)
    shown = basalt("hpl", path, "--ignore-grid")
    expect(shown.status == 0 and counts(shown.out) == (2, 0, 0), shown)
    expect("2 x 3" in shown.err and "one process" in shown.err, shown)


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
def verbose_says_more_on_stderr():
    for command in ("lu", "solve"):
        quiet = basalt(command, "--n", "64")
        by_option = basalt(command, "--n", "64", "--verbose")
        by_environment = basalt(command, "--n", "64", env={"BASALT_VERBOSE": "1"})
        for shown in (by_option, by_environment):
            expect(quiet.err == "" and "panels of" in shown.err and "passed" in shown.out, shown)


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


# --- trace ----------------------------------------------------------------------------------------------


def write_trace(folder, events):
    """A trace with one core, one device and its copy engine; events are (row, begin us, length us, name, arguments)."""
    rows = [("worker 0", {"kind": "cpu"}), ("gpu 0", {"kind": "compute", "device": 0}),
            ("gpu 0 from host", {"kind": "copy", "device": 0})]
    lines = [{"ph": "M", "pid": 0, "tid": row, "name": "thread_name", "args": {"name": name, **kind}}
             for row, (name, kind) in enumerate(rows)]
    lines += [{"ph": "X", "pid": 0, "tid": row, "ts": begin, "dur": length, "name": name, "args": args}
              for row, begin, length, name, args in events]
    path = os.path.join(folder, "trace.json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"traceEvents": lines}, out)
    return path


KNOWN_TRACE = [(0, 0, 40, "panel", {"id": 1, "step": 0, "tiles": "0"}),
               (2, 45, 20, "to gpu", {"kind": "copy", "bytes": 1000000, "id": 2, "after": [1], "step": 0}),
               (1, 60, 40, "update", {"id": 3, "step": 0}),
               (1, 104, 96, "update", {"id": 4, "after": [3], "step": 1, "tiles": "1,2"})]


@test
@in_folder
def trace_tells_busy_shares_gaps_copies_steps_and_waits(folder):
    path = write_trace(folder, KNOWN_TRACE)
    shown = basalt("trace", path)
    expect(shown.status == 0 and shown.err == "" and "3 tasks and 1 copies in 200 us" in shown.out, shown)
    for line in (r"cores \(1\) +20\.0 % +80\.0 %", r"gpu 0 +68\.0 % +32\.0 %", r"gpu 0 +1 +4 us +4 us +4 us +4 us",
                 r"gpu 0 +20 us copying, +25\.0 % hidden", r"from host +gpu 0 +1 +1 MB +20 us +50 GB/s",
                 r"update +GPUs +2 +136 us", r"1 +1 +104 us +200 us +96 us +0 ns +96 us +0 ns",
                 r"gpu 0 +60 us at +0 ns: update \(step 0\), no known predecessor",
                 r"gpu 0 +4 us at +100 us: update 1,2 \(step 1\), 4 us after update on gpu 0 ended"):
        expect(re.search(line, shown.out), shown)


@test
@in_folder
def trace_writes_the_same_numbers_as_json_and_a_chart(folder):
    chart = os.path.join(folder, "chart.svg")
    shown = basalt("trace", write_trace(folder, KNOWN_TRACE), "--json", "-", "--svg", chart)
    expect(shown.status == 0 and "hidden" in shown.err and shown.out.count("\n") == 1, shown)
    numbers = json.loads(shown.out)
    expect([numbers[key] for key in ("tasks", "copies", "cores_busy", "hidden")] == [3, 1, 0.2, 0.25], shown)
    device = numbers["devices"][0]
    expect(abs(device["busy"] - 0.68) < 1e-12 and device["gaps"]["median_us"] == 4, shown)
    expect(device["gaps"]["count"] == 1 and device["waits"][1]["ended_by"] == "update 1,2", shown)
    expect(numbers["directions"][0]["gb_s"] == 50 and numbers["steps"][1]["step"] == 1, shown)
    with open(chart, encoding="utf-8") as drawing:
        text = drawing.read()
    assert xml.etree.ElementTree.fromstring(text).tag.endswith("svg") and "update 1,2 (step 1): 96 us" in text


@test
@in_folder
def trace_reads_what_the_program_records(folder):
    path = os.path.join(folder, "trace.json")
    shown = basalt("lu", "--n", "200", "--nb", "32", "--cpus", "2", "--trace", path)
    expect(shown.status == 0, shown)
    shown = basalt("trace", path)
    expect(shown.status == 0 and re.search(r"panel +cores +7 ", shown.out), shown)


@test
@in_folder
def trace_refuses_what_is_no_trace(folder):
    path = write_trace(folder, KNOWN_TRACE)
    with open(path, encoding="utf-8") as trace:
        text = trace.read()
    with open(path, "w", encoding="utf-8") as trace:
        trace.write(text[:-40])
    expect_refused(basalt("trace", path), f"{path}:1: byte {len(text) - 40}: ")
    write_trace(folder, [(0, 0, -1, "backwards", {})])
    expect_refused(basalt("trace", path), f"{path}:1: byte ", "dur = -1", "0 and more")
    expect_refused(basalt("trace", HPL_DAT), f"{HPL_DAT}:1: byte ")
    expect_refused(basalt("trace", folder), folder, "is a folder")
    expect_refused(basalt("trace", os.path.join(folder, "none")), "none", "No such file", "--trace")
    expect_refused(basalt("trace"), "FILE")
    write_trace(folder, KNOWN_TRACE)
    expect_refused(basalt("trace", path, "--svg", "/nowhere/a.svg"), "--svg", "/nowhere/a.svg")


# --------------------------------------------------------------------------------------------------------


def main():
    failed = 0
    wanted = sys.argv[3:]
    chosen = [case for case in tests if not wanted or case.__name__ in wanted]
    for case in chosen:
        try:
            case()
        except Exception:  # noqa: BLE001: whatever it is, it is this case's failure
            failed += 1
            print(f"{case.__name__} failed:\n{traceback.format_exc()}")
    print(f"cases: {len(chosen) - failed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


main()
