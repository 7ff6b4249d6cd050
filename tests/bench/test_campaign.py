"""`./run bench campaign`: which rows it measures, in which order, what it records, and what failures do to it.

usage: test_campaign.py CAMPAIGN BUILD_DIRECTORY
Ends with "cases: N passed, M failed, 0 skipped".
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

CAMPAIGN, BUILD = map(pathlib.Path, sys.argv[1:3])

# Stands for a bench: bench_fake ACTION... --json FILE; each action is done in its turn.
FAKE_BENCH = """#!/usr/bin/env python3
import json, os, pathlib, subprocess, sys, time
path = sys.argv[sys.argv.index("--json") + 1]
for action in sys.argv[1:sys.argv.index("--json")]:
    name, _, value = action.partition(":")
    if name in ("n", "wrong", "half", "bare"):
        record = {"routine": "getrf", "precision": "d", "gpus": 1, "mode": "gpu", "n": int(value), "gflops": 1000.0 * int(value),
                  "vendor_gflops": 500.0, "passed": name != "wrong", "commit": "unknown"}
        if name != "bare":
            record.update(date="2026-11-30T00:00:00Z", command="bench_fake", load={"average": 0})
        with open(path, "a") as file:
            file.write(json.dumps(record)[:20] if name == "half" else json.dumps(record) + "\\n")
    elif name == "note":
        with open(value, "a") as file:
            file.write(sys.argv[1] + "\\n")
    elif name == "fail":
        sys.exit(f"the matrix of order {value} does not fit")
    elif name == "child":
        pathlib.Path(value).write_text(str(subprocess.Popen(["sleep", "600"]).pid))
    elif name == "await":
        while not os.path.exists(value):
            time.sleep(0.01)
"""

MACHINE = {"bench": "machine", "date": "2026-11-30T00:00:00Z", "command": "bench_machine", "machine": "A Processor, 4 cores",
           "commit": "unknown", "driver": "580.1", "load": {"average": 0.1, "others": None, "stolen": None},
           "clocks": [{"gpu": "NVIDIA H200", "sm_mhz": 1980, "memory_mhz": 3201, "power_limit_watts": 700}]}


def row(name, rank, seconds, n, command, must="-", aim="-", gpus=1):
    return f"{name} | docs | {gpus} | {rank} | {seconds} | Tflop/s | {must} | {aim} | routine=getrf n={n} | {command}"


class WithFakes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "build/bench").mkdir(parents=True)
        self.results = self.folder / "results"
        self.program("bench/bench_fake", FAKE_BENCH)
        self.program("basalt", FAKE_BENCH)
        self.machine(MACHINE)

    def program(self, name, text):
        path = self.folder / "build" / name
        path.write_text(text)
        path.chmod(0o755)

    def machine(self, record):
        self.program("bench/bench_machine", "#!/bin/sh\ncat >>\"$2\" <<'END'\n" + json.dumps(record) + "\nEND\n")

    def command(self, rows, *arguments):
        path = self.folder / "rows.txt"
        path.write_text("[Fakes]\n" + "\n".join(rows) + "\n")
        return [sys.executable, str(CAMPAIGN), "--no-build", "--build", str(self.folder / "build"), "--rows", str(path),
                "--results", str(self.results), "--gpus", "1", "--budget", "60", *arguments]

    def run_campaign(self, rows, *arguments):
        return subprocess.run(self.command(rows, *arguments), capture_output=True, text=True, timeout=60)

    def records(self):
        return [json.loads(line) for path in self.results.glob("*.json") for line in path.read_text().splitlines()]

    def line_of(self, result, name):
        lines = [line for line in result.stdout.splitlines() if line.startswith(name)]
        self.assertEqual(len(lines), 1, result.stdout)
        return lines[0]

    def test_rows_of_a_command_are_measured_by_one_run_and_the_important_ones_first(self):
        notes = self.folder / "notes"
        result = self.run_campaign([row("later", 2, 1, 7, f"fake n:7 note:{notes}"),
                                    row("first", 1, 1, 3, f"fake n:3 n:4 note:{notes}"),
                                    row("with it", 1, '"', 4, '"', must="3", aim="5"),
                                    row("of two GPUs", 1, 1, 3, "fake n:9", gpus=2)])
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(notes.read_text().split(), ["n:3", "n:7"])
        self.assertEqual([record["n"] for record in self.records()], [3, 4, 7])
        self.assertEqual(self.line_of(result, "with it").split()[2:6], ["Tflop/s", "3.0", "5.0", "4.0"])
        self.assertNotIn("of two GPUs", result.stdout)
        self.assertIn("3 measured, 0 failed, 0 cut by the budget, 0 below must", result.stdout)
        self.assertIn("no --commit names one", result.stdout)

    def test_a_row_below_must_and_the_change_since_the_newest_record_are_printed(self):
        rows = [row("slow", 1, 1, 4, "fake n:4", must="5")]
        first = self.line_of(self.run_campaign(rows), "slow")
        self.assertIn("below must", first)
        with open(next(self.results.glob("*.json")), "a") as file:
            file.write(json.dumps({**self.records()[0], "gflops": 5000.0, "date": "2026-11-29"}) + "\n")
            file.write(json.dumps({**self.records()[0], "gflops": 2000.0, "date": "2026-12-01"}) + "\n")
        self.assertEqual(self.line_of(self.run_campaign(rows), "slow").split()[4:7], ["4.0", "2.0", "+100.0%"])

    def test_after_a_failure_the_rest_goes_on_and_what_was_recorded_is_kept(self):
        result = self.run_campaign([row("done", 1, 1, 3, "fake n:3 half:9 fail:9"), row("broken", 1, '"', 9, '"'),
                                    row("missing", 2, 1, 5, "nosuchbench n:5"), row("wrong", 3, 1, 6, "fake wrong:6"),
                                    row("silent", 4, 1, 6, "fake"), row("last", 5, 1, 8, "fake n:8")])
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("the matrix of order 9 does not fit", self.line_of(result, "broken"))
        self.assertNotIn("does not fit", self.line_of(result, "done"))
        self.assertIn("bench_nosuchbench", self.line_of(result, "missing"))
        self.assertIn("its check failed", self.line_of(result, "wrong"))
        self.assertIn("no record", self.line_of(result, "silent"))
        self.assertEqual([record["n"] for record in self.records()], [3, 6, 8])
        self.assertIn("\nfailed: broken; missing; wrong; silent\n", result.stdout)

    def test_a_command_that_hangs_is_ended_with_all_that_it_started(self):
        child = self.folder / "child"
        result = self.run_campaign([row("hangs", 1, 0.1, 4, f"fake n:3 child:{child} await:/nonexistent"),
                                    row("next", 2, 0.1, 5, "fake n:5")], "--grace", "2")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("stopped after 2 s", self.line_of(result, "hangs"))
        self.assertEqual([record["n"] for record in self.records()], [3, 5])
        self.assertFalse(is_running(int(child.read_text())))

    def test_rows_that_do_not_fit_into_the_budget_are_listed_and_smaller_ones_still_run(self):
        result = self.run_campaign([row("large", 1, 900, 3, "fake n:3"), row("small", 2, 1, 4, "fake n:4")])
        self.assertEqual(result.returncode, 4, result.stdout + result.stderr)
        self.assertIn("cut: ", self.line_of(result, "large"))
        self.assertIn("\ncut: large\n", result.stdout)
        self.assertEqual([record["n"] for record in self.records()], [4])

    def test_one_row_of_a_command_takes_the_time_of_the_whole_command(self):
        rows = [row("large", 1, 900, 3, "fake n:3 n:4"), row("with it", 1, '"', 4, '"')]
        result = self.run_campaign(rows, "--only", "with it")
        self.assertEqual(result.returncode, 4, result.stdout + result.stderr)
        self.assertIn("takes 900", self.line_of(result, "with it"))
        result = self.run_campaign(rows, "--only", "with it", "--budget", "1000")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("1 measured, 0 failed", result.stdout)
        self.assertNotIn("large", result.stdout)

    def test_a_row_is_printed_before_the_next_one_runs(self):
        flag = self.folder / "flag"
        process = subprocess.Popen(self.command([row("first", 1, 1, 3, "fake n:3"),
                                                 row("second", 2, 30, 4, f"fake await:{flag} n:4")]),
                                   stdout=subprocess.PIPE, text=True)
        for line in process.stdout:
            if line.startswith("first"):
                self.assertEqual([record["n"] for record in self.records()], [3])
                flag.touch()
        self.assertEqual(process.wait(timeout=30), 0)
        process.stdout.close()

    def test_sigterm_ends_the_command_and_prints_the_summary(self):
        child = self.folder / "child"
        process = subprocess.Popen(self.command([row("first", 1, 1, 3, "fake n:3"),
                                                 row("second", 2, 30, 4, f"fake n:4 child:{child} await:/nonexistent")]),
                                   stdout=subprocess.PIPE, text=True)
        while not child.exists() or not child.read_text():
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        output = process.communicate(timeout=30)[0]
        self.assertEqual(process.returncode, 143, output)
        self.assertIn("stopped by SIGTERM", output)
        self.assertIn("1 measured", output)
        self.assertEqual([record["n"] for record in self.records()], [3, 4])
        self.assertFalse(is_running(int(child.read_text())))

    def test_records_of_the_program_get_their_circumstances_and_unknown_commits_the_one_given(self):
        result = self.run_campaign([row("program", 1, 1, 3, "basalt bare:3"), row("bench", 2, 1, 4, "fake n:4")],
                                   "--commit", "0123456789ab-dirty")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertNotIn("no --commit names one", result.stdout)
        program, bench = self.records()
        self.assertEqual({key: program[key] for key in ("date", "command", "commit", "driver", "clocks", "load")},
                         {"command": "basalt bare:3", "commit": "0123456789ab-dirty",
                          **{key: MACHINE[key] for key in ("date", "driver", "clocks", "load")}})
        self.assertEqual((bench["command"], bench["commit"]), ("bench_fake", "0123456789ab-dirty"))
        self.assertEqual([path.name for path in self.results.iterdir()], ["nvidia-h200-x1.json"])

    def test_fewer_gpus_than_asked_for(self):
        result = self.run_campaign([row("two", 1, 1, 3, "fake n:3", gpus=2)], "--gpus", "2")
        self.assertEqual(result.returncode, 3, result.stdout)
        self.assertIn("--gpus 2: the driver has 1", result.stdout)

    def test_wrong_use_is_refused(self):
        good = row("good", 1, 1, 3, "fake n:3")
        for rows, arguments, word in (([good], ["--gpus", "3"], "0, 1, 2, 4, 8"), ([good], ["--budget", "0"], "above 0"),
                                      ([good], ["--only", "nosuchrow"], "nosuchrow"), ([good, good], [], "rows.txt:3"),
                                      ([good + " | more"], [], "rows.txt:2"),
                                      ([good.replace("Tflop/s", "miles")], [], "Gflop/s"),
                                      ([good.replace("docs", "wall")], [], "readme")):
            result = self.run_campaign(rows, *arguments)
            self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
            self.assertIn(word, result.stdout + result.stderr)
        self.assertFalse(self.results.exists())

    def test_a_file_of_records_that_is_none_is_named(self):
        self.results.mkdir()
        (self.results / "notes.json").write_text('{"n": 3}\nhello\n')
        result = self.run_campaign([row("good", 1, 1, 3, "fake n:3")])
        self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
        self.assertIn("notes.json:2", result.stdout)


class OnCores(unittest.TestCase):
    def test_real_benches_at_tiny_sizes_write_records_with_all_circumstances(self):
        conditions = "precision=d mode=cpu cpus=2"
        rows = ["[Tiny]",
                f"LU | docs | 0 | 1 | 5 | x | - | - | routine=getrf {conditions} n=70 | versus lu --n 70 --cpus 2",
                f"LU rate | docs | 0 | 1 | \" | Gflop/s | - | - | routine=getrf {conditions} n=70 | \"",
                "Panel | docs | 0 | 2 | 5 | x | - | - | bench=panel m=90 nb=32 threads=2 | "
                "panel --heights 90 --nb 32 --threads 2 --repeat 1 --no-getf2",
                "Task | docs | 0 | 3 | 5 | ns | - | - | case=chain system=basalt workers=2 / system=onetbb | "
                "tasks --case chain --system basalt,onetbb --workers 2 --tasks 2000 --repeat 1"]
        with tempfile.TemporaryDirectory() as folder:
            path, results = pathlib.Path(folder) / "rows.txt", pathlib.Path(folder) / "results"
            path.write_text("\n".join(rows) + "\n")
            result = subprocess.run([sys.executable, str(CAMPAIGN), "--no-build", "--build", str(BUILD), "--gpus", "0",
                                     "--budget", "60", "--rows", str(path), "--results", str(results)],
                                    capture_output=True, text=True, timeout=100)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertIn("4 measured, 0 failed", result.stdout)
            records = [json.loads(line) for file in results.iterdir() for line in file.read_text().splitlines()]
        self.assertEqual([record["command"].split()[0] for record in records],
                         ["bench_versus", "bench_panel", "bench_tasks", "bench_tasks"])
        for record in records:
            self.assertRegex(record["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
            self.assertRegex(record["commit"], r"^[0-9a-f]{12}(-dirty)?$|^unknown$")
            self.assertEqual(set(record["load"]), {"average", "others", "stolen"})
            self.assertIn("cores", record["machine"])
            self.assertNotIn("--json", record["command"])

    def test_the_rows_of_the_tree_are_listed_for_every_number_of_gpus(self):
        for gpus in (0, 1, 2, 4, 8):
            result = subprocess.run([sys.executable, str(CAMPAIGN), "--gpus", str(gpus), "--list"],
                                    capture_output=True, text=True, timeout=100)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertGreater(len(result.stdout.splitlines()), 5)


def is_running(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


result = unittest.main(argv=sys.argv[:1], exit=False).result
failed = len(result.failures) + len(result.errors)
print(f"cases: {result.testsRun - failed} passed, {failed} failed, 0 skipped")
sys.exit(1 if failed else 0)
