"""./run after a Meson or ninja that was interrupted: a later call configures and builds by itself. And the lines that
close a test run.

usage: test_run_script.py RUN    works on a small project of its own
Ends with "cases: N passed, M failed, 0 skipped".
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

RUN = os.path.abspath(sys.argv.pop(1))
os.environ.pop("CI", None)  # `run` then configures with options that the small project does not have
TOTALS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "totals.py")

MESON_BUILD = """project('interrupted', 'c', version: '1', default_options: ['warning_level=1'])
run_command('sh', '-c', 'if test -e @0@/slow; then touch @0@/waits; exec sleep 60; fi'.format(
  meson.current_source_dir()), check: true)
executable('basalt', 'program.c')
executable('slow_one', custom_target('generated', output: 'generated.c', input: 'program.c', command: ['sh', '-c',
  'cp $0 $1; if test -e @0@/slow_build; then touch @0@/waits; exec sleep 60; fi'.format(
  meson.current_source_dir()), '@INPUT@', '@OUTPUT@']))
test('passes', find_program('true'))
"""


class Interrupted(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        shutil.copy(RUN, cls.folder)
        for name, text in (("meson.build", MESON_BUILD), ("program.c", "int main(void) { return 7; }\n")):
            with open(os.path.join(cls.folder, name), "w", encoding="utf-8") as out:
                out.write(text)
        build = os.path.join(cls.folder, "build")
        subprocess.run(["meson", "setup", "-Dwarning_level=3", build, cls.folder], capture_output=True, check=True)
        shutil.copytree(build, os.path.join(cls.folder, "configured"))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def call(self, *arguments):
        return subprocess.run([self.path("run"), "--no-install", *arguments], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120, check=False)

    def expect_built(self, said):
        """The next call builds and runs the program, the one after that has nothing to say."""
        shown = self.call("basalt")
        self.assertEqual(shown.returncode, 7, shown.stderr)
        self.assertEqual("half configured" in shown.stderr, said, shown.stderr)
        again = self.call("basalt")
        self.assertEqual((again.returncode, again.stderr), (7, ""))
        tests = subprocess.run(["meson", "test", "-C", self.path("build"), "--no-rebuild"], capture_output=True,
                               text=True, check=False)
        self.assertEqual(tests.returncode, 0, tests.stdout + tests.stderr)

    def interrupt(self, marker, *arguments):
        """Sends what Ctrl-C sends to all of `run` as soon as it waits where `marker` makes it wait."""
        open(self.path(marker), "w", encoding="utf-8").close()
        process = subprocess.Popen([self.path("run"), "--no-install", *arguments], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        for _ in range(1200):
            if os.path.exists(self.path("waits")):
                break
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        self.assertNotEqual(process.wait(60), 0)
        for name in (marker, "waits"):
            os.remove(self.path(name))

    def configured_anew(self):
        shutil.rmtree(self.path("build"), ignore_errors=True)
        shutil.copytree(self.path("configured"), self.path("build"))

    def test_meson_is_interrupted(self):
        shutil.rmtree(self.path("build"), ignore_errors=True)
        self.interrupt("slow", "basalt")
        self.expect_built(said=True)

    def test_meson_ends_between_its_files(self):
        """In the order in which Meson writes them, for the first time (without cmd_line.txt) and later."""
        files = ["meson-private/coredata.dat", "build.ninja", "meson-private/build.dat", "meson-private/cmd_line.txt",
                 "meson-info/meson-info.json"]
        for written in range(1, len(files)):
            self.configured_anew()
            for name in files[written:]:
                os.remove(self.path(os.path.join("build", name)))
            with self.subTest(first=written):
                self.expect_built(said=True)
        for name in files[:3] + files[4:]:
            for change in (os.remove, lambda path: os.truncate(path, 0)):
                self.configured_anew()
                change(self.path(os.path.join("build", name)))
                with self.subTest(name=name):
                    self.expect_built(said=True)
                    with open(self.path("build/meson-private/cmd_line.txt"), encoding="utf-8") as options:
                        self.assertIn("warning_level = 3", options.read())

    def test_meson_is_interrupted_in_a_later_configuration(self):
        """build.ninja is new, and what Meson writes after it is that of the time before."""
        self.configured_anew()
        later = time.time() + 5
        os.utime(self.path("build/build.ninja"), (later, later))
        shown = self.call("basalt")
        self.assertIn("half configured", shown.stderr)
        self.configured_anew()
        self.expect_built(said=False)
        time.sleep(0.01)
        os.utime(self.path("meson.build"))
        self.interrupt("slow", "basalt")
        self.expect_built(said=False)

    def test_ninja_is_interrupted(self):
        self.configured_anew()
        self.interrupt("slow_build", "build")
        self.assertEqual(self.call("build").returncode, 0)
        self.expect_built(said=False)


class ClosingLines(unittest.TestCase):
    """totals.py, on a log as Meson writes it."""

    def close(self, *tests, broken=0):
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as log:
            for name, result, output in tests:
                entry = {"name": name, "result": result, "duration": 1.25, "stdout": output}
                log.write(json.dumps(entry) + "\n")
            log.flush()
            return subprocess.run([sys.executable, "-B", TOTALS, "--broken", str(broken), log.name],
                                  capture_output=True, text=True, check=False)

    def test_all_passed(self):
        closed = self.close(("lu", "OK", "cases: 3 passed, 0 failed, 1 skipped"), ("format", "OK", ""))
        self.assertEqual((closed.returncode, closed.stdout), (0, "4 passed, 0 failed, 1 skipped\n"))

    def test_a_failure_is_repeated_with_the_end_of_its_output(self):
        output = "".join(f"line {i}\n" for i in range(100)) + "cases: 2 passed, 1 failed, 0 skipped\n"
        closed = self.close(("early", "FAIL", output), ("late", "OK", ""))
        lines = closed.stdout.splitlines()
        self.assertEqual(closed.returncode, 1)
        self.assertEqual(lines[0], "failed: early (FAIL after 1.2 s); the end of its output:")
        self.assertIn("    line 99", lines)
        self.assertNotIn("    line 50", lines)
        self.assertEqual(lines[-1], "3 passed, 1 failed, 0 skipped")

    def test_one_that_hangs_or_breaks_is_a_failure(self):
        closed = self.close(("hangs", "TIMEOUT", ""), ("passes", "OK", ""), broken=1)
        self.assertIn("failed: hangs (TIMEOUT", closed.stdout)
        self.assertEqual(closed.stdout.splitlines()[-1], "1 passed, 2 failed, 0 skipped")


if __name__ == "__main__":
    result = unittest.main(exit=False, verbosity=1).result
    failed = len({case.id().split(" ")[0] for case, _ in result.failures + result.errors})
    print(f"cases: {result.testsRun - failed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)
