"""Measures every row of rows.txt on this machine, most important first, within a budget of seconds.

Appends the records to a file of bench/results and prints a line a row: target, figure, and the newest record's figure
of the same row. Exit status: 0 when every row was measured; 1 when a row failed; 2 for wrong use; 3 when the machine
cannot do it (no such GPUs, no build); 4 when the budget cut rows and none failed; 130 and 143 after SIGINT and SIGTERM.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import rows as table

ROOT = table.FOLDER.parent.parent
GPU_COUNTS = (0, 1, 2, 4, 8)


class Stopped(Exception):
    """A signal asked the campaign to end."""


def say(text=""):
    print(text, flush=True)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="bench campaign", description=__doc__.split("\n\n")[0],
                                     epilog=__doc__.split("\n\n", 1)[1], allow_abbrev=False)
    parser.add_argument("--gpus", type=int, choices=GPU_COUNTS,
                        help="rows for this many GPUs (default: as many as there are, 0 for none)")
    parser.add_argument("--budget", type=positive, default=540, metavar="SECONDS",
                        help="what the campaign may take, build included (default: %(default)s)")
    parser.add_argument("--results", type=pathlib.Path, default=table.RESULTS, metavar="FOLDER",
                        help="where the records are appended (default: bench/results)")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose name contains this text")
    parser.add_argument("--list", action="store_true", help="print the rows in their order and stop")
    parser.add_argument("--commit", help="commit for the records of a build outside a git checkout")
    parser.add_argument("--rows", type=pathlib.Path, default=table.ROWS, help=argparse.SUPPRESS)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help=argparse.SUPPRESS)
    parser.add_argument("--no-build", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--grace", type=positive, default=30, help=argparse.SUPPRESS)
    parser.add_argument("--since", type=float, default=time.time(), help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def positive(text):
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text}: allowed are numbers above 0 and below 1000000")
    return value


def count_gpus():
    """The GPUs that nvidia-smi lists, as a number that rows exist for."""
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return 0
    found = sum(line.startswith("GPU ") for line in listed.splitlines())
    return max(count for count in GPU_COUNTS if count <= found)


class Group:
    """Rows that one command measures."""

    def __init__(self, rows):
        self.rows = rows
        self.command = rows[0].command
        self.seconds = sum(row.seconds for row in rows)
        self.rank = min(row.rank for row in rows)

    @property
    def target(self):
        """What ninja builds for it."""
        program = self.command.split()[0]
        return program if program == "basalt" else f"bench/bench_{program}"


def groups_of(rows, text):
    """The rows whose name contains the text. Their commands take as long as with the rows that they share them with."""
    by_command = {}
    for row in rows:
        by_command.setdefault(row.command, []).append(row)
    groups = [Group(members) for members in by_command.values()]
    for group in groups:
        group.rows = [row for row in group.rows if text in row.name]
    return sorted((group for group in groups if group.rows), key=lambda group: group.rank)


class Campaign:
    def __init__(self, options, groups):
        self.options = options
        self.groups = groups
        folders = {table.RESULTS.resolve(), options.results.resolve()}
        self.before = table.merged([table.read_records(folder) for folder in folders if folder.is_dir()])
        self.measured = 0
        self.failed, self.cut, self.below = [], [], []
        self.file = None
        self.commit = options.commit
        self.started = options.since

    def left(self):
        return self.options.budget - (time.time() - self.started)

    # --- running programs ---

    def run(self, command, seconds):
        """Exit status (None after a timeout) and what it wrote to stderr. Its whole process group ends with it."""
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=output, start_new_session=True)
            try:
                status = process.wait(timeout=seconds)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                end_group(process)
            output.seek(0)
            return status, output.read().decode(errors="replace")

    def build(self):
        """Whether all programs are built. Nothing else is built: compiling counts as measuring does."""
        targets = sorted({group.target for group in self.groups} | {"bench/bench_machine"})
        begun = time.time()
        jobs = str(len(os.sched_getaffinity(0)))
        status, output = self.run(["sh", "-c", 'exec ninja -C "$0" -j "$@" >&2', self.options.build, jobs, *targets],
                                  max(self.left(), 1))
        if status != 0:
            say(output[-4000:])
            say("campaign: " + ("the build took the whole budget" if status is None else "the build failed"))
            return False
        say(f"built {', '.join(targets)} in {time.time() - begun:.0f} s")
        return True

    def program(self, group):
        return [str(self.options.build / group.target), *group.command.split()[1:]]

    def circumstances(self):
        """The machine as bench_machine records it."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "machine.json"
            status, output = self.run([str(self.options.build / "bench/bench_machine"), "--json", str(path)], 60)
            if status != 0 or not path.is_file():
                raise RuntimeError(f"bench_machine ended with status {status}: {output.strip()[-400:]}")
            return json.loads(path.read_text())

    # --- rows ---

    def measure(self):
        machine = self.circumstances()
        self.commit = self.commit or machine["commit"]
        clocks = machine.get("clocks", [])
        if "driver" in machine and len(clocks) < self.options.gpus:
            raise RuntimeError(f"--gpus {self.options.gpus}: the driver has {len(clocks)}")
        self.options.results.mkdir(parents=True, exist_ok=True)
        self.file = self.options.results / f"{slug(machine, self.options.gpus)}.json"
        if self.commit == "unknown":
            say("campaign: the build knows no commit, and no --commit names one: the records will lack it")
        gpus = ", ".join(each["gpu"] for each in clocks) or "no GPU"
        say(f"{machine['machine']}, {gpus}; driver {machine.get('driver', 'none')}; commit {self.commit}; "
            f"load {machine['load']['average']}; {machine['date']}")
        say(f"records go to {self.file.name}; {self.left():.0f} s of {self.options.budget:.0f} are left\n")
        say(f"{'row':<44} {'unit':<9} {'must':>7} {'aim':>7} {'figure':>8} {'newest':>8} {'change':>7}  note")
        for group in self.groups:
            if group.seconds > self.left():
                self.cut += group.rows
                for row in group.rows:
                    self.line(row, None, f"cut: {self.left():.0f} s left, takes {group.seconds:.0f}")
            else:
                self.measure_group(group)

    def measure_group(self, group):
        """One command. A command that takes three times its estimate, and 30 s more than it, has hung."""
        limit = min(max(3 * group.seconds, group.seconds + self.options.grace), self.left())
        begun = time.time()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "records.json"
            try:
                status, output = self.run([*self.program(group), "--json", str(path)], limit)
            except OSError as error:
                status, output = error.errno, str(error)
            finally:
                records = self.keep(group, path)
        why = self.complaint(status, output, limit)
        taken = f"{time.time() - begun:.0f} s"
        for row in group.rows:
            self.report(row, records, why, taken if row is group.rows[0] else "")

    def keep(self, group, path):
        """Appends the complete records that a command has written so far, each with its circumstances."""
        if not path.is_file():
            return []
        records = []
        for line in path.read_text().splitlines(keepends=True):
            if not line.endswith("\n"):
                break  # it was killed while it wrote
            records.append(self.completed(group, json.loads(line)))
        with open(self.file, "a", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)
        return records

    def completed(self, group, record):
        """With what the program `basalt` does not record by itself, and a commit where the build knows none."""
        if "date" not in record:
            machine = self.circumstances()
            record["command"] = group.command
            record.update({key: machine[key] for key in ("date", "commit", "driver", "clocks", "load")
                           if key in machine})
        if record.get("commit", "unknown") == "unknown":
            record["commit"] = self.commit
        return record

    @staticmethod
    def complaint(status, output, limit):
        if status == 0:
            return None
        if status is None:
            return f"stopped after {limit:.0f} s"
        lines = [line for line in output.splitlines() if line.strip()]
        return f"status {status}: {lines[-1].strip()[:200]}" if lines else f"status {status}"

    def report(self, row, records, why, note):
        found = [record for record in records if row.is_of(record)]
        figure = row.figure(found[-1]) if found else None
        if found and found[-1].get("passed", True) is False:
            why = why or "its check failed"
            self.failed.append(row)
        elif figure is None:
            why = why or "the command wrote no record of this row"
            self.failed.append(row)
        else:
            self.measured += 1
            why = None  # a later row of the command failed, or ran out of time
        below = figure is not None and row.must is not None and not row.reaches(figure, row.must)
        if below:
            self.below.append(row)
        self.line(row, figure, "; ".join(filter(None, [why, "below must" if below else "", note])))

    def line(self, row, figure, note):
        record = table.newest(row, self.before)
        before = row.figure(record) if record else None
        change = f"{row.gain(figure, before):+.1%}" if figure and before else ""
        say(f"{row.name:<44} {row.unit:<9} {row.text(row.must):>7} {row.text(row.aim):>7} {row.text(figure):>8} "
            f"{row.text(before):>8} {change:>7}  {note}")

    def summary(self):
        say(f"\n{self.measured} measured, {len(self.failed)} failed, {len(self.cut)} cut by the budget, "
            f"{len(self.below)} below must; {time.time() - self.started:.0f} s of {self.options.budget:.0f}")
        for title, rows in (("failed", self.failed), ("cut", self.cut), ("below must", self.below)):
            if rows:
                say(f"{title}: " + "; ".join(row.name for row in rows))
        return 1 if self.failed else 4 if self.cut else 0


def end_group(process):
    """Ends a program and all that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=5)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass
    process.wait()


def slug(machine, gpus):
    """The name of a machine's file of records."""
    if gpus:
        models = [clocks["gpu"] for clocks in machine.get("clocks", [])]
        name = f"{models[0] if models else 'gpu'} x{gpus}"
    else:
        name = machine["machine"]
    return re.sub(r"[^a-z0-9]+", "-", name.lower().replace("(r)", "")).strip("-")


def stop(number, _frame):
    raise Stopped(number)


def main():
    options = parse(sys.argv[1:])
    if options.gpus is None:
        options.gpus = count_gpus()
    try:
        groups = groups_of([row for row in table.read_rows(options.rows) if row.gpus == options.gpus], options.only)
        if not groups:
            say(f"campaign: no row for {options.gpus} GPUs has '{options.only}' in its name; --list names them")
            return 2
        if options.list:
            for group in groups:
                say(f"{group.seconds:>5.0f} s  {group.command}")
                for row in group.rows:
                    say(f"         {row.name}")
            say(f"{sum(group.seconds for group in groups):>5.0f} s  in all, without the build")
            return 0
        campaign = Campaign(options, groups)
    except table.RowsError as error:
        say(f"campaign: {error}")
        return 2
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    try:
        if not options.no_build and not campaign.build():
            return 3
        campaign.measure()
    except Stopped as stopped:
        say(f"\ncampaign: stopped by {signal.Signals(stopped.args[0]).name}")
        campaign.summary()
        return 128 + stopped.args[0]
    except (OSError, RuntimeError, ValueError) as error:
        say(f"campaign: {error}")
        return 3
    return campaign.summary()


sys.exit(main())
