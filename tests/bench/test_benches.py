"""The comparisons of bench/ run at tiny sizes, write the records that scripts read, and refuse wrong use.

usage: test_benches.py BENCH_TASKS BENCH_VERSUS BENCH_UPDATE BENCH_BROADCAST BENCH_PANEL PLOT_PANEL
           BENCH_KERNELS BENCH_TASK_BENCH BENCH_PLACEMENT
Ends with "cases: N passed, M failed, K skipped".
"""

import json
import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest

TASKS, VERSUS, UPDATE, BROADCAST, PANEL, PLOT_PANEL, KERNELS, TASK_BENCH, PLACEMENT = sys.argv[1:10]


def run(*arguments):
    return subprocess.run(arguments, capture_output=True, text=True, timeout=100)


def records(test, *arguments):
    result = run(*arguments, "--json", "-")
    test.assertEqual(result.returncode, 0, result.stderr)
    found = [json.loads(line) for line in result.stdout.splitlines()]
    for record in found:
        check_circumstances(test, record, [pathlib.Path(arguments[0]).name, *arguments[1:]])
    return found


def check_circumstances(test, record, command):
    """Every record says when, where and how it was made."""
    test.assertEqual(shlex.split(record["command"]), command)
    test.assertRegex(record["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
    test.assertRegex(record["commit"], r"^[0-9a-f]{12}(-dirty)?$|^unknown$")
    test.assertRegex(record["machine"], r", \d+ cores")
    test.assertEqual(set(record["load"]), {"average", "others", "stolen"})
    test.assertGreaterEqual(record["load"]["average"], 0)
    test.assertEqual("driver" in record, "clocks" in record)


class Tasks(unittest.TestCase):
    def test_every_system_reports_the_cost_of_a_task_and_its_memory(self):
        small = ["--tasks", "20000", "--tiles", "24", "--repeat", "1"]
        found = records(self, TASKS, "--case", "independent,chain,cholesky", *small)
        self.assertEqual(len(found), 3 * 11)  # five systems with 1 and 2 workers, and bare
        for record in found:
            self.assertGreater(record["ns_per_task"], 0, record)
            self.assertGreaterEqual(record["peak_mb"], 0, record)
        counts = {(record["case"], record["tasks"]) for record in found}
        self.assertEqual(counts, {("independent", 20000), ("chain", 20000), ("cholesky", 24 * 25 * 26 // 6)})
        self.assertEqual({(r["system"], r["workers"]) for r in found},
                         {(s, w) for s in ("basalt", "replay", "replay-other", "openmp", "onetbb")
                          for w in (1, 2)} | {("bare", 1)})

    def test_the_cholesky_graph_of_64_tiles_has_45760_tasks(self):
        found = records(self, TASKS, "--case", "cholesky", "--system", "bare", "--repeat", "1")
        self.assertEqual(found[0]["tasks"], 45760)

    def test_figures_of_one_run_are_compared(self):
        small = ["--tasks", "5000", "--tiles", "12", "--repeat", "1", "--workers", "1,2"]
        found = records(self, TASKS, "--case", "independent", "--system", "basalt,openmp,onetbb", *small)
        ns = {(r["system"], r["workers"]): r["ns_per_task"] for r in found}
        for record in found:
            for other in {"openmp", "onetbb"} - {record["system"]}:
                expected = record["ns_per_task"] / ns[other, record["workers"]]
                self.assertAlmostEqual(record["times_" + other] / expected, 1, places=6)
        sharing = records(self, TASKS, "--case", "sharing", *small)
        self.assertEqual([r["times_readwrite"] == 1 for r in sharing if r["stream"] == "readwrite"], [True, True])
        slopes = [r for r in records(self, TASKS, "--case", "accesses", *small) if r["case"] == "access-cost"]
        self.assertEqual([(r["workers"], r["figure"]) for r in slopes],
                         [(w, f) for w in (1, 2) for f in ("average", "steepest")])
        for average, steepest in zip(slopes[::2], slopes[1::2]):
            self.assertLessEqual(average["ns_per_access"], steepest["ns_per_access"])

    def test_scaling_goes_up_in_steps_of_ten(self):
        small = ["--workers", "1", "--largest", "100000", "--repeat", "1"]
        found = records(self, TASKS, "--case", "scaling", *small)
        chain = [record["tasks"] for record in found if record["stream"] == "chain"]
        self.assertEqual(chain, [10000, 100000])

    def test_wrong_use_is_refused_with_what_is_allowed(self):
        for arguments, allowed in ((["--case", "qr"], "cholesky"), (["--system", "x"], "openmp"),
                                   (["--workers", "0"], "1024"), (["--repeat", "many"], "1000"),
                                   (["--nonsense"], "--help")):
            result = run(TASKS, *arguments)
            self.assertEqual(result.returncode, 2, arguments)
            for word in (*arguments, allowed):
                self.assertIn(word, result.stderr)


class VersusQr(unittest.TestCase):
    def test_each_shape_gives_a_checked_record_beside_the_vendor(self):
        for shape in (["--n", "150"], ["--m", "200", "--n", "60"], ["--m", "60", "--n", "130", "--precision", "s"]):
            record = records(self, VERSUS, "qr", *shape, "--nb", "32", "--tile", "64x32", "--cpus", "2")[0]
            self.assertTrue(record["passed"], record)
            self.assertEqual((record["routine"], record["tile"]), ("geqrf", "64x32"))
            self.assertIn(len(record["runs"]), range(3, 16))
            self.assertIn("OpenBLAS", record["vendor"])
            self.assertAlmostEqual(record["ratio"] * record["vendor_gflops"] / record["gflops"], 1, places=6)

    def test_a_method_by_tiles_is_checked_and_refused_on_gpus(self):
        for method, shape, chosen in (("tile", ["--n", "150"], "tile"), ("auto", ["--m", "900", "--n", "30"], "tile"),
                                      ("auto", ["--n", "40"], "blocked")):
            record = records(self, VERSUS, "qr", *shape, "--method", method, "--cpus", "2")[0]
            self.assertTrue(record["passed"], record)
            self.assertEqual(record["method"], chosen)
        result = run(VERSUS, "qr", "--method", "tile", "--mode", "gpu")
        self.assertEqual(result.returncode, 2, result)
        self.assertIn("--mode cpu", result.stderr)


class VersusLu(unittest.TestCase):
    def test_each_size_gives_a_checked_record_beside_the_vendor(self):
        found = records(self, VERSUS, "lu", "--n", "70,150", "--nb", "32", "--tile", "64x32", "--cpus", "2")
        self.assertEqual([record["n"] for record in found], [70, 150])
        for record in found:
            self.assertTrue(record["passed"], record)
            self.assertEqual(record["tile"], "64x32")
            self.assertIn(len(record["runs"]), range(3, 16))
            self.assertIn("OpenBLAS", record["vendor"])
            gflops = record["gflops"]
            self.assertAlmostEqual(record["ratio"] * record["vendor_gflops"] / gflops, 1, places=6)
            self.assertAlmostEqual(record["gemm_fraction"] * record["gemm_gflops"] / gflops, 1, places=6)

    def test_single_precision_and_rectangles(self):
        for shape in (["--m", "130", "--n", "60"], ["--m", "60", "--n", "130"]):
            found = records(self, VERSUS, "lu", *shape, "--precision", "s", "--cpus", "1")
            self.assertTrue(found[0]["passed"], found)
            self.assertEqual(found[0]["precision"], "s")

    def test_the_vendor_is_started_anew_with_the_kernels_asked_for(self):
        result = run(VERSUS, "lu", "--n", "50", "--vendor-coretype", "NoSuchCore")
        self.assertEqual(result.returncode, 2)
        for word in ("--vendor-coretype", "NoSuchCore", "Haswell"):
            self.assertIn(word, result.stderr)

    def test_wrong_use_is_refused_with_what_is_allowed(self):
        for arguments, allowed in ((["--n", "-4"], "1"), (["--tile", "64"], "HEIGHTxWIDTH"),
                                   (["--precision", "z"], "d"), (["--mode", "tpu"], "gpu"),
                                   (["--repeat", "2"], "3"), (["--cpus", "x"], "1024"),
                                   (["--in-place"], "--data device"), (["--vendor", "mkl"], "cusolvermg"),
                                   (["--vendor-block", "0"], "134217728"), (["--data", "disk"], "devices")):
            result = run(VERSUS, "lu", *arguments)
            self.assertEqual(result.returncode, 2, arguments)
            for word in (*arguments, allowed):
                self.assertIn(word, result.stderr)
        self.assertEqual(run(VERSUS, "svd").returncode, 2)

    def test_options_of_other_routines_are_refused(self):
        for routine, *arguments, allowed in (
                ("qr", "--left-looking", "cholesky"), ("qr", "--upper", "cholesky"), ("lu", "--upper", "cholesky"),
                ("qr", "--rows-on-cores", "cholesky"), ("cholesky", "--single-update-task", "lu"),
                ("cholesky", "--broadcast-from-host", "lu"), ("cholesky", "--coarse", "64", "lu"),
                ("cholesky", "--tf32", "lu"), ("cholesky", "--panel-threads", "2", "lu, qr"),
                ("cholesky", "--mode", "gpu", "--data", "device", "--in-place", "lu")):
            result = run(VERSUS, routine, "--n", "40", *arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertIn(f"not of {routine}; allowed with {allowed}", result.stderr)

    def test_qr_has_no_vendor_on_several_gpus(self):
        result = run(VERSUS, "qr", "--mode", "gpu", "--vendor", "cusolvermg")
        self.assertEqual(result.returncode, 2)
        for word in ("--vendor cusolvermg", "cusolver", "none"):
            self.assertIn(word, result.stderr)

    def test_modes_with_gpus_say_that_there_is_none(self):
        for mode in ("hybrid", "gpu"):
            result = run("env", "CUDA_VISIBLE_DEVICES=", VERSUS, "lu", "--mode", mode)
            self.assertEqual(result.returncode, 3)
            self.assertIn("--mode hybrid and gpu", result.stderr)


class VersusCholesky(unittest.TestCase):
    def test_each_size_gives_a_checked_record_beside_the_vendor(self):
        for precision in "sd":
            found = records(self, VERSUS, "cholesky", "--n", "70,150", "--nb", "32", "--tile", "64x32", "--cpus", "2",
                            "--precision", precision)
            self.assertEqual([record["n"] for record in found], [70, 150])
            for record in found:
                self.assertTrue(record["passed"], record)
                self.assertEqual(record["routine"], "potrf")
                self.assertAlmostEqual(record["ratio"] * record["vendor_gflops"] / record["gflops"], 1, places=6)

    def test_only_square_matrices(self):
        result = run(VERSUS, "cholesky", "--n", "40", "--m", "50")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--m", result.stderr)


class Update(unittest.TestCase):
    small = ["--emulated", "--rows", "200", "--cols", "120", "--seconds", "0.02", "--turns", "2"]

    def test_each_depth_and_width_gives_a_record_beside_the_plain_gemm(self):
        found = records(self, UPDATE, *self.small, "--k", "8,16", "--width", "32,50")
        self.assertEqual([(r["k"], r["width"], r["n"]) for r in found],
                         [(8, 32, 96), (8, 50, 100), (16, 32, 96), (16, 50, 100)])
        for record in found:
            self.assertEqual((len(record["runs"]), len(record["gemm_runs"])), (2, 2))
            self.assertTrue(record["emulated"])
            self.assertAlmostEqual(record["ratio"] * record["gemm_gflops"] / record["gflops"], 1, places=6)

    def test_products_by_slices_are_of_single_precision(self):
        found = records(self, UPDATE, *self.small, "--precision", "s", "--by-slices", "--k", "16", "--width", "32")
        self.assertEqual([(r["precision"], r["by_slices"]) for r in found], [("s", True)])

    def test_wrong_use_is_refused_with_what_is_allowed(self):
        for arguments, allowed in ((["--width", "121"], "120"), (["--k", "0"], "134217728"), (["--precision", "z"], "d")):
            result = run(UPDATE, *self.small, *arguments)
            self.assertEqual(result.returncode, 2, arguments)
            for word in (*arguments, allowed):
                self.assertIn(word, result.stderr)

    def test_without_a_gpu_it_says_so(self):
        result = run("env", "CUDA_VISIBLE_DEVICES=", UPDATE)
        self.assertEqual(result.returncode, 3)
        self.assertIn("no GPU", result.stderr)


class Broadcast(unittest.TestCase):
    def test_every_way_from_every_source_is_timed_on_emulated_devices(self):
        found = records(self, BROADCAST, "--emulated-gpus", "3", "--size", "100KB,1MiB", "--chunk", "0,64KiB",
                        "--repeat", "1")
        ways = {(r["source"], r["targets"], r["bytes"], r["method"], r["chunk_bytes"]) for r in found}
        copies = {way for way in ways if way[3] == "copies"}
        self.assertEqual({way[:3] for way in copies}, {("device", 2, 100000), ("device", 2, 1048576)})
        rings = {("ring", chunk) for chunk in (0, 65536)}
        self.assertEqual(ways - copies, {(source, targets, size, *way)
                                         for source, most in (("device", 2), ("host", 3))
                                         for targets in range(1, most + 1)
                                         for size in (100000, 1048576) for way in rings | {("source", 0)}})
        for record in found:
            self.assertGreater(record["milliseconds"], 0, record)

    def test_a_ring_longer_than_there_are_devices_goes_round_them(self):
        found = records(self, BROADCAST, "--emulated-gpus", "2", "--source", "device", "--targets", "1,3", "--size", "1MiB",
                        "--chunk", "64KiB", "--repeat", "1")
        self.assertEqual({(r["targets"], r["method"]) for r in found},
                         {(1, "ring"), (1, "source"), (3, "ring"), (3, "copies")})
        self.assertEqual({r["gpus"] for r in found}, {2})

    def test_wrong_use_is_refused_with_what_is_allowed(self):
        for arguments, allowed in ((["--source", "disk"], "host"), (["--method", "pigeon"], "ring"),
                                   (["--gpus", "0"], "1"), (["--size", "0"], "1"), (["--repeat", "0"], "1000")):
            result = run(BROADCAST, *arguments)
            self.assertEqual(result.returncode, 2, arguments)
            for word in (*arguments, allowed):
                self.assertIn(word, result.stderr)


class Panel(unittest.TestCase):
    def test_each_height_and_width_gives_a_record_beside_getrf_and_getf2(self):
        found = records(self, PANEL, "--heights", "70,500", "--nb", "32,64", "--threads", "1,3", "--repeat", "1")
        self.assertEqual([(r["nb"], r["m"], r["threads"]) for r in found],
                         [(nb, m, t) for nb in (32, 64) for m in (70, 500) for t in (1, 3)])
        for record in found:
            self.assertAlmostEqual(record["ratio"] * record["seconds"] / record["getrf_seconds"], 1, places=6)
            self.assertEqual("getf2_seconds" in record, record["threads"] == 1)

    def test_the_phases_are_listed_and_add_up(self):
        result = run(PANEL, "--heights", "300", "--nb", "70", "--threads", "2", "--repeat", "1", "--no-vendor",
                     "--phases", "--precision", "s")
        self.assertEqual(result.returncode, 0, result.stderr)
        total, phases = result.stdout.splitlines()[-1].split("=")
        times = phases.split()
        self.assertEqual(times[::2][:2] + times[-2:-1], ["load", "leaf", "barrier"])
        self.assertAlmostEqual(sum(map(float, times[1::2])), float(total.split()[1]), delta=0.01)

    def test_wrong_use_is_refused_with_what_is_allowed(self):
        for arguments, allowed in ((["--heights", "0"], "1"), (["--threads", "0"], "1024"), (["--nb", "x"], "1"),
                                   (["--precision", "z"], "d"), (["--nonsense"], "--help"), (["--mode", "tpu"], "gpu"),
                                   (["--designs", "spiral"], "cluster"), (["--blocks", "-1"], "1024")):
            result = run(PANEL, *arguments)
            self.assertEqual(result.returncode, 2, arguments)
            for word in (*arguments, allowed):
                self.assertIn(word, result.stderr)

    def test_the_tallest_panel_is_measured_and_one_that_no_memory_holds_is_refused(self):
        tallest = str(2**26)
        column = [PANEL, "--heights", tallest, "--nb", "1", "--threads", "1", "--repeat", "1", "--precision", "s",
                  "--no-vendor"]
        found = records(self, *column)
        self.assertEqual([(r["m"], r["nb"]) for r in found], [(2**26, 1)])
        # four copies of a column take 1 GiB, and libraries some gigabytes; room for a block of 64 columns would take 17
        limited = run("prlimit", f"--as={12 << 30}", *column)
        self.assertEqual(limited.returncode, 0, limited.stderr)
        result = run(PANEL, "--heights", f"70,{tallest}", "--nb", "100000", "--threads", "1", "--no-vendor")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        for word in (f"--heights {tallest} with --nb 100000", "4 copies", "this machine has"):
            self.assertIn(word, result.stderr)

    def test_without_a_gpu_its_mode_says_so(self):
        result = run("env", "CUDA_VISIBLE_DEVICES=", PANEL, "--mode", "gpu")
        self.assertEqual(result.returncode, 3)
        self.assertIn("--mode gpu", result.stderr)

    def test_the_plot_of_gpu_panels_has_a_line_for_each_design_and_number_of_blocks(self):
        with tempfile.TemporaryDirectory() as directory:
            lines, picture = pathlib.Path(directory) / "records.json", f"{directory}/panel-gpu.svg"
            contestants = (("steps", 0), ("cluster", 8), ("cluster", 16), ("cusolver", 0))
            points = [{"bench": "panel", "mode": "gpu", "precision": "d", "m": m, "nb": 256, "design": design,
                       "blocks": blocks, "seconds": 1e-3 * m, "getrf_seconds": 2e-3 * m, "gpu": "NVIDIA H200"}
                      for m in (1024, 2048) for design, blocks in contestants]
            lines.write_text("".join(json.dumps(point) + "\n" for point in points))
            result = run(sys.executable, PLOT_PANEL, str(lines), "--mode", "gpu", "--output", picture)
            self.assertEqual(result.returncode, 0, result.stderr)
            text = pathlib.Path(picture).read_text()
            for label in ("Basalt, steps", "Basalt, cluster, 8 blocks", "Basalt, cluster, 16 blocks", "cuSOLVER getrf"):
                self.assertIn(f">{label}</text>", text)
            self.assertNotEqual(run(sys.executable, PLOT_PANEL, str(lines), "--output", picture).returncode, 0)

    def test_the_plot_is_drawn_from_records(self):
        with tempfile.TemporaryDirectory() as directory:
            lines, picture = f"{directory}/records.json", f"{directory}/panel.svg"
            run(PANEL, "--heights", "70,300", "--nb", "32", "--threads", "1", "--repeat", "1", "--json", lines)
            result = run(sys.executable, PLOT_PANEL, lines, "--output", picture)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("</svg>", pathlib.Path(picture).read_text())


class Circumstances(unittest.TestCase):
    def test_the_command_is_quoted_and_has_neither_folder_nor_json(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "it's a file.json"
            trace = f"{directory}/a b'c.json"
            result = run(VERSUS, "lu", "--n", "50", "--cpus", "1", "--trace", trace, f"--json={path}")
            self.assertEqual(result.returncode, 0, result.stderr)
            record = json.loads(path.read_text())
        self.assertNotIn("/bench_versus", record["command"])
        self.assertEqual(shlex.split(record["command"]),
                         ["bench_versus", "lu", "--n", "50", "--cpus", "1", "--trace", trace])

    def test_the_work_of_other_processes_is_measured_and_our_own_is_not(self):
        small = [PANEL, "--heights", "4000", "--nb", "128", "--threads", "1", "--repeat", "10", "--no-vendor"]
        with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
            try:
                busy = records(self, *small)[0]["load"]["others"]
            finally:
                other.kill()
        self.assertGreater(busy, 0.2)


class Kernels(unittest.TestCase):
    def test_each_kernel_gives_a_record(self):
        small = ["--emulated", "--rows", "200", "--cols", "120", "--width", "50", "--turns", "2", "--seconds", "0.001"]
        found = records(self, KERNELS, *small, "--nb", "16,32")
        counts = {}
        for record in found:
            counts[record["kernel"]] = counts.get(record["kernel"], 0) + 1
            self.assertGreater(record["microseconds"], 0, record)
        self.assertEqual(counts["exchange rows"], 2)
        self.assertEqual(len(counts), 19)

    def test_wrong_use_is_refused_with_what_is_allowed(self):
        result = run(KERNELS, "--rows", "20", "--nb", "32")
        self.assertEqual(result.returncode, 2)
        for word in ("--nb", "32", "20"):
            self.assertIn(word, result.stderr)


class TaskBench(unittest.TestCase):
    def test_every_system_runs_every_pattern_in_a_right_order(self):
        result = run(TASK_BENCH, "--check", "--width", "1,2,9", "--steps", "30", "--workers", "3")
        self.assertEqual(result.returncode, 0, result.stdout)
        lines = result.stdout.splitlines()
        for line in lines:
            self.assertRegex(line, r": (\d+) of \1 tasks ran, 0 of \d+ inputs are wrong: passed$")
        systems = {line.split()[3].rstrip(":") for line in lines}
        self.assertLessEqual({"basalt", "basalt_readwrite", "basalt_after", "basalt_replay", "openmp", "onetbb", "onetbb_reused",
                              "serial"},
                             systems)
        self.assertEqual(len(lines), 10 * 3 * len(systems))

    def test_the_metg_lies_where_the_efficiency_crosses_one_half(self):
        found = records(self, TASK_BENCH, "--pattern", "stencil_1d,tree", "--system", "basalt,serial", "--width", "4",
                        "--steps", "40", "--workers", "2", "--repeat", "1")
        self.assertEqual([(r["pattern"], r["system"], r["workers"], r["tasks"]) for r in found],
                         [(p, s, w, n) for p, n in (("stencil_1d", 160), ("tree", 3 + 38 * 4))
                          for s, w in (("basalt", 2), ("serial", 1))])
        for record in found:
            above, below = record["points"][-2:]
            self.assertGreaterEqual(above["efficiency"], 0.5, record)
            self.assertLess(below["efficiency"], 0.5, record)
            part = (0.5 - below["efficiency"]) / (above["efficiency"] - below["efficiency"])
            expected = below["granularity_ns"] + part * (above["granularity_ns"] - below["granularity_ns"])
            self.assertAlmostEqual(record["metg_ns"] / expected, 1, places=6)

    def test_the_efficiency_with_tasks_of_a_given_length_is_recorded(self):
        found = records(self, TASK_BENCH, "--pattern", "tree", "--system", "basalt,openmp", "--task-us", "20", "--width", "2",
                        "--steps", "30", "--repeat", "1")
        for record in found:
            self.assertEqual(record["task_us"], 20)
            self.assertEqual(record["efficiency"], record["points"][-1]["efficiency"])
            self.assertNotIn("metg_ns", record)

    def test_given_sizes_are_all_measured(self):
        found = records(self, TASK_BENCH, "--pattern", "fft", "--iterations", "1,500", "--steps", "20", "--repeat", "1")
        for record in found:
            self.assertEqual([point["iterations"] for point in record["points"]], [500, 1])
            self.assertNotIn("metg_ns", record)

    def test_wrong_use_is_refused_with_what_is_allowed(self):
        for arguments, allowed in ((["--pattern", "star"], "stencil_1d"), (["--system", "x"], "openmp"),
                                   (["--width", "0"], "64"), (["--steps", "1"], "10000"), (["--iterations", "0"], "100000000"),
                                   (["--workers", "0"], "1024"), (["--repeat", "0"], "1000")):
            result = run(TASK_BENCH, *arguments)
            self.assertEqual(result.returncode, 2, arguments)
            for word in (*arguments, allowed):
                self.assertIn(word, result.stderr)


class Placement(unittest.TestCase):
    def test_each_policy_is_compared_with_the_best_placement_by_hand(self):
        found = records(self, PLACEMENT, "--policy", "heft,owner", "--tiles", "2", "--warm-up", "1", "--repeat", "1",
                        "--slowness", "1,1.5")
        self.assertEqual([(r["policy"], r["tasks"], r["slowness"]) for r in found],
                         [("heft", 4, "1,1.5"), ("owner", 4, "1,1.5")])
        for record in found:
            self.assertAlmostEqual(record["ratio"], record["vendor_milliseconds"] / record["milliseconds"])
            self.assertIn("by hand", record["vendor"])

    def test_wrong_use_is_refused_with_what_is_allowed(self):
        for arguments, allowed in ((["--policy", "luck"], "owner"), (["--tiles", "0"], "40"),
                                   (["--slowness", "1,0.5"], "1 to 1e6"), (["--workers", "0"], "64")):
            result = run(PLACEMENT, *arguments)
            self.assertNotEqual(result.returncode, 0, arguments)
            self.assertIn(allowed, result.stderr)


result = unittest.main(argv=sys.argv[:1], exit=False).result
failed = len(result.failures) + len(result.errors)
skipped = len(result.skipped)
print(f"cases: {result.testsRun - failed - skipped} passed, {failed} failed, {skipped} skipped")
sys.exit(1 if failed else 0)
