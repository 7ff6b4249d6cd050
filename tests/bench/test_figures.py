"""README's and docs/figures.md's figures are those of the newest records, and records say where they come from.

usage: test_figures.py SOURCE_ROOT
Ends with "cases: N passed, M failed, 0 skipped".
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv[1]).resolve()
ROW = "LU, double, n = 32768"
IS_OF_ROW = {"routine": "getrf", "precision": "d", "mode": "gpu", "gpus": 1, "data": "device", "n": 32768}


def figures(action, root):
    return subprocess.run([sys.executable, "-B", str(root / "bench/figures/figures.py"), action, "--root", str(root)],
                          capture_output=True, text=True, timeout=60)


def records(root):
    for path in sorted((root / "bench/results").glob("*.json")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            yield f"{path.name}:{number}", json.loads(line)


class Tree(unittest.TestCase):
    def test_the_figures_are_those_of_the_newest_records(self):
        result = figures("--check", ROOT)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_every_record_has_a_date_a_machine_a_commit_and_a_command(self):
        for where, record in records(ROOT):
            with self.subTest(where):
                self.assertRegex(record.get("date", ""), r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
                self.assertRegex(record.get("commit", ""), r"^[0-9a-f]{7,40}$")  # nothing uncommitted
                self.assertTrue(record.get("machine"))
                self.assertRegex(record.get("command", ""), r"^(bench_|basalt )")
                self.assertIn("average", record.get("load", {}))
                if record.get("gpus", 0) > 0 or "gpu" in record:
                    self.assertTrue(record.get("driver"))
                    self.assertTrue(record.get("clocks"))


class Copy(unittest.TestCase):
    """A copy of the tree's figures, with a record more."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for part in ("bench/campaign", "bench/figures", "bench/plots", "bench/results"):
            shutil.copytree(ROOT / part, self.root / part)
        (self.root / "docs").mkdir()
        for file in ("README.md", "docs/figures.md", "docs/figures-h100.md"):
            shutil.copy(ROOT / file, self.root / file)

    def newest(self):
        found = [record for _, record in records(self.root)
                 if all(record.get(key) == value for key, value in IS_OF_ROW.items()) and record.get("vendor_gflops")
                 and "H200" in record["machine"] + record.get("gpu", "")]
        return max(found, key=lambda record: record["date"])

    def add(self, **changes):
        """A record of the row a minute before or after the newest one."""
        record = {**self.newest(), **changes}
        with open(self.root / "bench/results/zz-added.json", "a") as file:
            file.write(json.dumps(record) + "\n")

    def check(self):
        return figures("--check", self.root)

    def test_a_newer_record_that_is_slower_makes_the_figures_stale_until_they_are_written_again(self):
        self.add(date="2099-01-01T00:00:00Z", gflops=40100.0)
        result = self.check()
        self.assertEqual(result.returncode, 1, result.stderr)
        for place in ("README.md:", "docs/figures.md:", "bench/plots/rates.svg:"):
            self.assertIn(place, result.stderr)
        self.assertIn(f"| {ROW} | 40.1 Tflop/s |", result.stderr)
        self.assertEqual(figures("--write", self.root).returncode, 0)
        self.assertEqual(self.check().returncode, 0)
        self.assertIn(f"| {ROW} | 40.1 Tflop/s |", (self.root / "README.md").read_text())

    def test_records_that_do_not_count_change_nothing(self):
        later = {"date": "2099-01-01T00:00:00Z", "gflops": 40100.0}
        self.add(date="2020-01-01T00:00:00Z", gflops=99000.0)                      # older and better
        self.add(**later, machine="A Processor, 16 cores, NVIDIA A100")
        self.add(**later, lookahead=0)                                             # an option that is not the default
        self.add(**later, passed=False)
        self.add(**later, emulated=True)
        self.add(**later, vendor_gflops=None)                                      # nothing to compare with
        result = self.check()
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_difference_below_rounding_changes_nothing(self):
        figure = self.newest()["gflops"]
        rounded = float(f"{figure / 1000:.1f}") * 1000
        self.add(date=self.newest()["date"], gflops=rounded)
        text = figures("--check", self.root).stderr
        self.assertNotIn("README.md", text)

    def test_a_figure_that_was_changed_by_hand_is_found(self):
        path = self.root / "README.md"
        text = path.read_text()
        changed = re.sub(r"(\| " + re.escape(ROW) + r" \| )\d+\.\d", r"\g<1>99.9", text)
        self.assertNotEqual(text, changed)
        path.write_text(changed)
        result = self.check()
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"| {ROW} | 99.9 Tflop/s |", result.stderr)

    def test_the_figure_of_the_first_lines_is_that_of_the_plot(self):
        path = self.root / "README.md"
        text = path.read_text()
        changed = re.sub(r"\d\.\d to \d\.\d times as fast as cuSOLVER", "1.0 to 9.9 times as fast as cuSOLVER", text)
        self.assertNotEqual(text, changed)
        path.write_text(changed)
        result = self.check()
        self.assertEqual(result.returncode, 1)
        self.assertIn("1.0 to 9.9", result.stderr)
        self.assertEqual(figures("--write", self.root).returncode, 0)
        self.assertEqual(path.read_text(), text)

    def test_a_figure_outside_of_the_table_is_found(self):
        path = self.root / "README.md"
        for figure in ("12.3 Tflop/s", "1.4 times", "220 ns"):
            text = (ROOT / "README.md").read_text()
            path.write_text(text.replace("## License", f"It reaches {figure}.\n\n## License"))
            result = self.check()
            self.assertEqual(result.returncode, 1, figure)
            self.assertIn("outside of the table", result.stderr)

    def test_a_readme_without_a_place_for_the_table_is_refused(self):
        path = self.root / "README.md"
        path.write_text(path.read_text().replace("<!-- end of figures -->", ""))
        result = self.check()
        self.assertEqual(result.returncode, 1)
        self.assertIn("end of figures", result.stderr)


result = unittest.main(argv=sys.argv[:1], exit=False).result
failed = len(result.failures) + len(result.errors)
print(f"cases: {result.testsRun - failed} passed, {failed} failed, 0 skipped")
sys.exit(1 if failed else 0)
