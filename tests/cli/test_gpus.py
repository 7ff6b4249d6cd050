"""Options of GPUs, on emulated ones: memory, traces, logs, TF32, energy."""

import glob
import json
import os
import re
import subprocess
import time

from program import (
    PROGRAM, basalt, counts, environment, expect, expect_refused, hpl_lines, in_folder, main, test, write_input,
)


@test
@in_folder
def lu_and_hpl_say_that_they_need_a_gpu(folder):
    path = write_input(folder, hpl_lines("50"))
    for command in (["lu", "--n", "10"], ["hpl", path]):
        for arguments in (["--mode", "hybrid"], ["--mode", "gpu"], ["--gpus", "1"], ["--data", "device"]):
            shown = basalt(*command, *arguments)
            expect_refused(shown, "GPU", " ".join(arguments), "--emulated-gpus 1", status=3)
        expect_refused(basalt(*command, env={"BASALT_DATA": "device"}), "BASALT_DATA device", status=3)


@test
@in_folder
def options_of_gpus_that_contradict_each_other_are_wrong_use(folder):
    path = write_input(folder, hpl_lines("50"))
    for command in (["lu", "--n", "10"], ["qr", "--n", "10"], ["cholesky", "--n", "10"], ["solve", "--n", "10"],
                    ["hpl", path]):
        for mode in ("hybrid", "gpu"):
            expect_refused(basalt(*command, "--mode", mode, "--gpus", "0"), f"--mode {mode} with --gpus 0; allowed: ")
        for option in (["--data", "device"], ["--gpu-mem", "1G"], ["--emulated-gpus", "2"], ["--gpus", "1"]):
            expect_refused(basalt(*command, "--mode", "cpu", *option),
                           f"{' '.join(option)} with --mode cpu; allowed: --mode hybrid, gpu or auto")
        for option in (["--data", "device"], ["--gpu-mem", "1G"]):
            expect_refused(basalt(*command, "--gpus", "0", *option),
                           f"{' '.join(option)} with --gpus 0; allowed: with GPUs")
        expect_refused(basalt(*command, "--gpus", "1", "--emulated-gpus", "2"),
                       "--gpus 1 with --emulated-gpus 2; allowed: one of them")
        # the environment is for all commands
        shown = basalt(*command, "--mode", "cpu", env={"BASALT_EMULATED_GPUS": "2", "BASALT_GPU_MEM": "1G"})
        expect(shown.status == 0, shown)


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
    shown = basalt("lu", "--n", "64", "--mode", "cpu", "--json", "-", env={"BASALT_EMULATED_GPUS": "2"})
    expect(json.loads(shown.out)["gpus"] == 0 and json.loads(shown.out)["mode"] == "cpu", shown)


@test
def the_mode_auto_takes_gpus_for_large_matrices_only():
    for n, lookahead, mode, gpus in (("300", "-1", "cpu", 0), ("2048", "-1", "gpu", 1), ("2048", "2", "hybrid", 1)):
        shown = basalt("lu", "--n", n, "--precision", "s", "--lookahead", lookahead, "--no-check", "--json", "-",
                       env={"BASALT_EMULATED_GPUS": "1"})
        expect(shown.status == 0, shown)
        record = json.loads(shown.out)
        expect([record[key] for key in ("mode", "gpus", "emulated")] == [mode, gpus, gpus > 0], shown)


@test
def an_option_that_asks_for_gpus_rules_the_cores_out():
    for command in (["lu"], ["qr"], ["cholesky"], ["solve"], ["solve", "--method", "cholesky", "--matrix", "spd"]):
        for n in ("0", "64"):
            shown = basalt(*command, "--n", n, "--emulated-gpus", "2", "--json", "-")
            record = json.loads(shown.out)
            expect(shown.status == 0 and [record["mode"], record["gpus"]] == ["gpu", 2], shown)
            shown = basalt(*command, "--n", n, "--json", "-", env={"BASALT_EMULATED_GPUS": "2"})
            expect(json.loads(shown.out)["mode"] == "cpu", shown)
    shown = basalt("lu", "--n", "64", "--emulated-gpus", "1", "--lookahead", "2", "--json", "-")
    expect(json.loads(shown.out)["mode"] == "hybrid", shown)
    expect_refused(basalt("qr", "--n", "64", "--emulated-gpus", "1", "--method", "tile"),
                   "--emulated-gpus 1 with options that only mode cpu has")


@test
def memory_for_emulated_gpus_is_counted_before_the_start():
    """What a run asks for covers what it takes beyond a tiny one, and no more than twice that."""
    for command in ("lu", "cholesky", "qr"):
        for mode, gpus in (("gpu", "1"), ("gpu", "4"), ("hybrid", "4")):
            arguments = [command, "--n", "2500", "--mode", mode, "--emulated-gpus", gpus, "--no-check"]
            shown = basalt(*arguments, "--verbose")
            needed = re.search(r"a 2500 x 2500 matrix needs (\d+) bytes, available are", shown.err)
            expect(shown.status == 0 and needed, shown)
            taken = peak_memory(arguments) - peak_memory([command, "--n", "10", "--mode", mode, "--emulated-gpus", gpus])
            assert taken < int(needed.group(1)) < 2.5 * taken, (arguments, taken, needed.group(1))


def peak_memory(arguments):
    """Bytes that were resident at once."""
    process = subprocess.Popen([PROGRAM, *arguments], env=environment({}), stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, arguments
    return usage.ru_maxrss * 1024


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
        expect_refused(shown, "--gpu-mem = 1099511627776000", "1 emulated GPU", "allowed is up to")


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
    steps = [step for step in numbers["steps"] if step["step"] is not None]
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
    expect_refused(basalt(*arguments, "--panel-log", "--trace", path, "--precision", "s"), "--panel-log", "float")


@test
def tf32_is_an_option_of_single_precision_on_gpus_and_checked_by_its_own_roundoff():
    arguments = ("lu", "--n", "300", "--nb", "32", "--tile", "64x64", "--mode", "gpu", "--emulated-gpus", "1",
                 "--json", "-")
    plain = basalt(*arguments, "--precision", "s")
    shown = basalt(*arguments, "--precision", "s", "--tf32")
    expect(plain.status == 0 and shown.status == 0 and "(tf32)" in shown.err, shown)
    expect("tf32" not in json.loads(plain.out) and json.loads(shown.out)["tf32"] is True, shown)
    expect(json.loads(shown.out)["residual_ratio"] < 30, shown)
    expect_refused(basalt(*arguments, "--tf32"), "--tf32", "double")
    expect_refused(basalt("lu", "--n", "10", "--precision", "s", "--mode", "cpu", "--tf32"), "--tf32", "cpu", "gpu")


main()
