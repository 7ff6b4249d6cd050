"""What all subcommands share: help, settings, refusals, files, interrupts; and `info`."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time

from program import (
    PROGRAM, basalt, environment, expect, expect_refused, hpl_lines, in_folder, main, test, write_input,
)


@test
def help_version_and_verbose_are_known_everywhere():
    for command in ([], ["info"], ["hpl"], ["cholesky"], ["lu"], ["qr"], ["solve"], ["trace"]):
        shown = basalt(*command, "--help")
        expect(shown.status == 0 and "--help" in shown.out and shown.err == "", shown)
        expect("--version" in shown.out and "--verbose" in shown.out, shown)
        shown = basalt(*command, "--version")
        expect(shown.status == 0 and re.fullmatch(r"basalt \d+\.\d+\.\d+ \([\w-]+\)\n", shown.out), shown)


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
    expect_refused(basalt("info", env={"BASALT_POLICY": "luck"}), "BASALT_POLICY", "gpu, heft, owner")
    expect_refused(basalt("info", env={"BASALT_WINDOW": ""}), 'BASALT_WINDOW = ""', "1 to")


@test
def info_shows_the_machine_and_where_each_setting_came_from():
    shown = basalt("info", "--tile", "32x64", env={"BASALT_NB": "48", "BASALT_WORKERS": "400"})
    expect(shown.status == 0 and shown.err == "", shown)
    for words in ("affinity mask", "CPU quota", "NUMA node 0", "memory limit", "locked memory", "OpenBLAS", "hwloc",
                  "oneTBB", "gpu, heft, owner", "CUDA  "):
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


HWLOC_XML = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x1" complete_cpuset="0x1" allowed_cpuset="0x1" nodeset="0x1"
    complete_nodeset="0x1" allowed_nodeset="0x1" gp_index="1">
    <object type="NUMANode" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1"
      gp_index="2" local_memory="1000000000"/>
    <object type="Core" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" gp_index="3">
      <object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" gp_index="4"/>
    </object>
  </object>
</topology>
"""


@test
@in_folder
def a_wrong_description_of_the_machine_is_refused_or_the_machine_is_taken_as_it_is(folder):
    texts = {
        "right": HWLOC_XML,
        "not_xml": "cores: 2\n",
        "nothing": "",
        "cut_off": HWLOC_XML[:len(HWLOC_XML) // 2],
        "no_objects": '<?xml version="1.0"?><topology version="2.0"></topology>',
        "no_cpuset": re.sub(r' \w*cpuset="0x1"', "", HWLOC_XML),
        "no_processors": HWLOC_XML.replace('cpuset="0x1"', 'cpuset="0x0"'),
        "wrong_cpuset": HWLOC_XML.replace(' cpuset="0x1"', ' cpuset="zebra"'),
        "unknown_type": HWLOC_XML.replace('"Core"', '"Toaster"'),
    }
    paths = {name: os.path.join(folder, f"{name}.xml") for name in texts}
    for name, text in texts.items():
        with open(paths[name], "w", encoding="utf-8") as out:
            out.write(text)
    paths.update(missing="/nonexistent", folder=folder)
    for name, path in paths.items():
        for arguments, sign in ((["info"], "cores  "), (["lu", "--n", "50"], "passed")):
            shown = basalt(*arguments, env={"HWLOC_XMLFILE": path})
            if shown.status == 0:
                expect(sign in shown.out, shown)
            else:  # hwloc may have told why before
                expect(shown.status == 3 and shown.out == "" and name not in ("right", "missing"), shown)
                expect(shown.err.endswith(f"basalt: hwloc cannot read the machine; it goes by HWLOC_XMLFILE={path}\n"),
                       shown)


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
        shown = basalt("lu", "--n", "64", "--json", "-", *more, env={"BASALT_EMULATED_GPUS": "1"})
        expect(shown.status == 0 and json.loads(shown.out)["mode"] == mode, shown)
    shown = basalt("info", "--emulated-gpus", "1", env={"BASALT_TUNING": path})
    expect(f"tuning ({path})" in shown.out and re.search(r"emulated GPUs +sm_90\n", shown.out), shown)
    expect("tuning (built-in tables)" in basalt("info").out, shown)
    with open(path, "w", encoding="utf-8") as out:
        out.write('{"gpu": {"sm_90": {"lu": {"smallest_order": "few"}}}}')
    expect_refused(basalt("lu", "--n", "9", "--tuning", path), path, 'gpu.sm_90.lu.smallest_order = "few"', "0 to ")
    expect_refused(basalt("info", env={"BASALT_TUNING": "/nowhere.json"}), "/nowhere.json", "No such file",
                   "a tuning file")


def model_of(routine, mode, seconds):
    """Seven runs of order 520 as a file of models has them, on this machine with two cores and one emulated GPU."""
    cpu = re.search(r"^  CPU +(.*)$", basalt("info").out, re.MULTILINE).group(1)
    return {"cpu": cpu, "cores": 2, "gpus": "" if mode == "cpu" else "1 x emulated GPU", "routine": routine,
            "precision": "d", "mode": mode, "data": "host", "options": "", "shape": 0, "last": 1,
            "runs": [[520, seconds]] * 7}


@test
@in_folder
def auto_takes_the_mode_that_was_fastest_and_says_so(folder):
    models = os.path.join(folder, "models.json")

    def run(command, *arguments, known=models):
        shown = basalt(command, "--n", "520", "--cpus", "2", "--models", known, "--json", "-", "--verbose", *arguments,
                       env={"BASALT_EMULATED_GPUS": "1"})
        expect(shown.status == 0, shown)
        return shown, json.loads(shown.out)

    for command, routine in ("lu", "getrf"), ("cholesky", "potrf"), ("qr", "geqrf"):
        for slow, fast in (("gpu", "cpu"), ("cpu", "gpu")):
            with open(models, "w", encoding="utf-8") as out:
                json.dump({"format": "basalt run models", "version": 1,
                           "models": [model_of(routine, slow, 0.5), model_of(routine, fast, 0.002)]}, out)
            shown, record = run(command)
            expect(record["mode"] == fast and record["mode_by"] == "models", shown)
            expect(f"mode {fast} (learnt)" in shown.err and "runs near that size" in shown.err, shown)
            shown, record = run(command, known="none")
            expect("mode_by" not in record and "(learnt)" not in shown.err, shown)
            shown, record = run(command, "--mode", slow)
            expect(record["mode"] == slow and "mode_by" not in record, shown)
        shown, record = run(command, "--emulated-gpus", "1")  # the cores are ruled out, however fast they were
        expect(record["mode"] == "gpu", shown)
    shown = basalt("info", "--models", models, "--verbose")
    expect("geqrf d gpu, data on host: n = 520 (7)" in shown.out, shown)
    expect("models (" not in basalt("info", "--models", models).out, shown)


@test
@in_folder
def what_runs_took_is_kept_only_where_it_is_asked_for(folder):
    models = os.path.join(folder, "basalt", "models.json")
    environments = ({"BASALT_MODELS": "auto", "XDG_CACHE_HOME": folder}, {"XDG_CACHE_HOME": folder})
    expect_refused(basalt("lu", "--n", "9", "--models", ""), '--models = ""', "auto, none")

    def run(*arguments, env=environments[0]):
        shown = basalt("lu", "--verbose", *arguments, env=env)
        expect(shown.status == 0, shown)
        return shown

    for arguments, reason in ((["--n", "300"], "the order is below 512"),
                              (["--n", "600", "--emulated-gpus", "1"], "the GPUs are emulated")):
        shown = run(*arguments)
        expect(f"nothing is learnt from these runs: {reason}" in shown.err and not os.path.exists(models), shown)
    shown = run("--n", "600", "--repeat", "5")
    # this machine may be busy with other things
    expect(("learnt from these runs: " + models in shown.err) == os.path.exists(models), shown)
    expect(os.path.exists(models) or "other processes" in shown.err or "the runs are short" in shown.err, shown)
    shown = basalt("lu", "--n", "600", "--verbose", drop=["BASALT_MODELS"], env={"XDG_CACHE_HOME": folder + "/none"})
    expect("learnt" not in shown.err and not os.path.exists(folder + "/none"), shown)


@test
@in_folder
def runs_on_a_loaded_machine_are_not_learnt(folder):
    models = os.path.join(folder, "models.json")
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in os.sched_getaffinity(0)]
    try:
        shown = basalt("lu", "--n", "1000", "--repeat", "12", "--models", models, "--verbose")
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
    expect(shown.status == 0 and not os.path.exists(models), shown)
    expect(re.search(r"nothing is learnt from these runs: other processes took \d+ % of the cores' time", shown.err),
           shown)


@test
def a_full_disk_under_stdout_is_a_failure():
    with open("/dev/full", "w", encoding="utf-8") as full:
        process = subprocess.run([PROGRAM, "info"], env=environment({}), stdout=full, stderr=subprocess.PIPE,
                                 timeout=60)
    assert process.returncode == 3 and b"standard output" in process.stderr


@test
@in_folder
def options_that_a_mode_has_not_are_refused_before_the_run(folder):
    path = write_input(folder, hpl_lines("50"))
    for command in (["lu", "--n", "50"], ["hpl", path]):
        expect_refused(basalt(*command, "--mode", "gpu", "--emulated-gpus", "1", "--lookahead", "2"),
                       "--lookahead = 2 in mode gpu", "0 or 1")
        expect_refused(basalt(*command, "--mode", "gpu", "--emulated-gpus", "1", env={"BASALT_LOOKAHEAD": "2"}),
                       "BASALT_LOOKAHEAD = 2 in mode gpu", "0 or 1")
        expect_refused(basalt(*command, "--mode", "hybrid", "--emulated-gpus", "1", "--lookahead", "3",
                              "--gpu-panels-below", "20"), "--lookahead = 3", "--gpu-panels-below = 20")
        for option in (["--gpu-panels-below", "20"], ["--single-update-task"], ["--broadcast-from-host"],
                       ["--plain-solve"]):
            expect_refused(basalt(*command, "--mode", "cpu", *option), f"{option[0]} with --mode cpu", "hybrid")
            expect_refused(basalt(*command, "--gpus", "0", *option), f"{option[0]} with --gpus 0; allowed: with GPUs")
            expect(basalt(*command, "--mode", "auto", *option).status == 0, command)
        for option in (["--gpu-panels-below", "20"], ["--plain-solve"]):
            expect_refused(basalt(*command, "--mode", "gpu", "--emulated-gpus", "1", *option),
                           f"{option[0]} with --mode gpu; allowed: --mode hybrid or auto")
    expect_refused(basalt("qr", "--n", "50", "--gpu-panels-below", "20", env={"BASALT_MODE": "cpu"}), "BASALT_MODE cpu")


@test
@in_folder
def panel_threads_are_refused_or_reported_where_no_cores_factor_panels_together(folder):
    path = write_input(folder, hpl_lines("50"))
    for command in (["lu", "--n", "50"], ["qr", "--n", "50"], ["hpl", path], ["solve", "--n", "50"]):
        on_gpu = [*command, "--emulated-gpus", "1", "--cpus", "2"]
        expect_refused(basalt(*on_gpu, "--mode", "gpu", "--panel-threads", "2"),
                       "--panel-threads 2 with --mode gpu; allowed: --mode cpu, hybrid or auto")
        expect(basalt(*on_gpu, "--mode", "gpu", "--panel-threads", "0").status == 0, command)
        expect(basalt(*on_gpu, "--mode", "gpu", env={"BASALT_PANEL_THREADS": "2"}).status == 0, command)
        shown = basalt(*on_gpu, "--panel-threads", "2")  # mode auto takes gpu
        expect(shown.status == 0 and shown.err.count("\n") == 1 and "--panel-threads 2 changes nothing" in shown.err and
               "mode gpu" in shown.err, shown)
        for mode in (["--mode", "cpu"], ["--mode", "hybrid", "--emulated-gpus", "1"], []):
            shown = basalt(*command, "--cpus", "2", *mode, "--panel-threads", "2")
            expect(shown.status == 0 and shown.err == "", shown)
    shown = basalt("qr", "--m", "2000", "--n", "20", "--method", "auto", "--panel-threads", "2")
    expect(shown.status == 0 and "--panel-threads 2 changes nothing" in shown.err, shown)  # by tiles
    expect_refused(basalt("solve", "--n", "50", "--matrix", "spd", "--method", "cholesky", "--panel-threads", "2"),
                   "--panel-threads with --method cholesky; allowed: --method lu or qr")
    shown = basalt("cholesky", "--n", "50", "--panel-threads", "2")
    expect(shown.status == 0 and "--panel-threads 2 changes nothing" in shown.err, shown)
    shown = basalt("cholesky", "--n", "50", env={"BASALT_PANEL_THREADS": "2"})
    expect(shown.status == 0 and shown.err == "", shown)


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


@test
def verbose_says_more_on_stderr():
    for command in ("lu", "solve"):
        quiet = basalt(command, "--n", "64")
        by_option = basalt(command, "--n", "64", "--verbose")
        by_environment = basalt(command, "--n", "64", env={"BASALT_VERBOSE": "1"})
        for shown in (by_option, by_environment):
            expect(quiet.err == "" and "panels of" in shown.err and "passed" in shown.out, shown)


main()
