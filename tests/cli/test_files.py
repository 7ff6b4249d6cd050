"""Files that the program reads and writes: what it refuses, full disks, limits, closed standard streams."""

import fcntl
import json
import os
import pty
import re
import resource
import signal
import stat
import struct
import subprocess
import termios
import time

from program import (
    PROGRAM, basalt, counts, environment, expect, expect_refused, hpl_lines, in_folder, main, test, write_input,
)

MODELS = '{"format": "basalt run models", "version": 1, "models": []}'
MATRIX = "%%MatrixMarket matrix array real general\n2 2\n4\n1\n1\n3\n"


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    return path


def read(path):
    with open(path, encoding="utf-8", errors="replace") as source:
        return source.read()


# --- models --------------------------------------------------------------------------------------------------


@test
@in_folder
def a_file_that_is_not_of_models_is_refused_and_left_alone(folder):
    wrong = {"a.mtx": MATRIX, "list.json": "[1, 2]", "cut.json": MODELS[:20], "other.json": '{"format": "another"}',
             "newer.json": MODELS.replace("1", "3"), "deep.json": "[" * 500000 + "]" * 500000}
    for name, text in wrong.items():
        path = write(folder, name, text)
        for arguments, env in ((["--models", path], {}), ([], {"BASALT_MODELS": path})):
            shown = basalt("lu", "--n", "50", *arguments, env=env)
            expect_refused(shown, (arguments or ["BASALT_MODELS"])[0], path, "allowed: auto, none")
            expect(len(shown.err) < 600, shown)
        assert read(path) == text
    expect_refused(basalt("info", "--models", os.path.join(folder, "newer.json")), "the version is 3", "reads 1 and 2")
    expect_refused(basalt("lu", "--n", "50", "--models", folder), folder, "is a folder")
    expect_refused(basalt("lu", "--n", "50", "--models", "-"), '--models = "-"')
    assert sorted(os.listdir(folder)) == sorted(wrong)


@test
@in_folder
def models_are_never_written_to_devices_pipes_or_new_folders(folder):
    pipe = os.path.join(folder, "pipe")
    os.mkfifo(pipe)
    expect_refused(basalt("lu", "--n", "50", "--models", pipe), pipe, "is a pipe")
    root = os.geteuid() == 0  # root's test may not come near the machine's devices
    for number, device in ((3, "/dev/null"), (5, "/dev/zero"), (7, "/dev/full")):
        node = os.path.join(folder, os.path.basename(device))
        if root:
            os.mknod(node, 0o666 | stat.S_IFCHR, os.makedev(1, number))
            os.symlink(node, node + "-link")
        else:
            os.symlink(device, node)
            os.symlink(node, node + "-link")
        before = os.stat(node)
        for path in (node, node + "-link"):
            expect_refused(basalt("lu", "--n", "50", "--models", path), path, "is a device")
        assert os.stat(node) == before and os.path.islink(node + "-link")
    new = os.path.join(folder, "new", "folder", "models.json")
    expect_refused(basalt("lu", "--n", "50", "--models", new), new, f"there is no folder {os.path.dirname(new)}")
    assert len(os.listdir(folder)) == 7


@test
@in_folder
def a_link_to_a_file_of_models_is_followed(folder):
    os.mkdir(os.path.join(folder, "there"))
    link = os.path.join(folder, "link.json")
    os.symlink("there/real.json", link)
    for text in (None, "", MODELS):  # absent: the link leads nowhere
        if text is not None:
            write(folder, "there/real.json", text)
        shown = basalt("lu", "--n", "600", "--models", link)  # learnt unless the machine is loaded
        expect(shown.status == 0 and shown.err == "", shown)
        assert os.readlink(link) == "there/real.json" and os.listdir(os.path.join(folder, "there")) in ([], ["real.json"])


@test
@in_folder
def a_damaged_default_file_of_models_is_a_warning(folder):
    os.mkdir(os.path.join(folder, "basalt"))
    path = write(folder, "basalt/models.json", "{")
    shown = basalt("lu", "--n", "600", env={"BASALT_MODELS": "auto", "XDG_CACHE_HOME": folder})
    expect(shown.status == 0 and shown.err.count(path) == 1 and "no JSON" in shown.err, shown)
    assert read(path) == "{" and os.listdir(os.path.dirname(path)) == ["models.json"]


# --- what is read --------------------------------------------------------------------------------------------


@test
@in_folder
def huge_deep_and_endless_files_are_refused_at_once_in_a_few_words(folder):
    limited = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))}
    expect_refused(basalt("lu", "--tuning", "/dev/zero", **limited), "/dev/zero", "more than 16777216 bytes")
    texts = {"closed": "[" * 500000 + "]" * 500000, "open": "[" * 500000,
             "value": '{"gpu": ' + "[" * 500000 + "]" * 500000 + "}", "long_value": '{"gpu": "' + "x" * 3000000 + '"}',
             "long_name": '{"' + "x" * 3000000 + '": 1}', "long_word": '"' + "x" * 3000000,
             "unit": '{"cpu": {"' + "x" * 3000000 + '": 1}}', "number": '{"cpu": {"avx2": ' + "1" * 3000000 + "}}"}
    for name, text in texts.items():
        path = write(folder, name + ".json", text)
        shown = basalt("lu", "--n", "50", "--tuning", path)
        expect_refused(shown, path)
        expect(len(shown.err) < 500, shown)
        shown = basalt("trace", path)
        expect_refused(shown, path)
        expect(len(shown.err) < 500, shown)


@test
def long_values_on_the_command_line_are_cut_in_messages():
    for arguments, env in ((["--n", "9" * 100000], {}), (["--" + "x" * 100000], {}), (["x" * 100000], {}),
                           ([], {"BASALT_NB": "9" * 100000}), ([], {"BASALT_" + "X" * 100000: "1"})):
        shown = basalt("lu", *arguments, env=env)
        expect_refused(shown)
        expect(len(shown.err) < 1200, shown)


# --- one file, two purposes ----------------------------------------------------------------------------------


@test
@in_folder
def a_file_is_not_two_outputs_or_input_and_output(folder):
    a, b, both = write(folder, "a.mtx", MATRIX), write(folder, "b.mtx", MATRIX), os.path.join(folder, "both")
    os.symlink(a, os.path.join(folder, "link"))
    tuning, models = write(folder, "tuning.json", "{}"), write(folder, "models.json", MODELS)
    lu, solve = ["lu", "--n", "50"], ["solve", a, b]
    for arguments in ([*lu, "--json", both, "--trace", both], [*solve, "-o", a], [*solve, "-o", b],
                      [*solve, "-o", os.path.join(folder, "link")], [*solve, "-o", both, "--json", both],
                      [*solve, "-o", both, "--trace", os.path.join(folder, ".", "both")],
                      ["lu", "--matrix", a, "--json", a], ["solve", "--matrix", a, "-o", a],
                      [*lu, "--tuning", tuning, "--trace", tuning], [*lu, "--models", models, "--json", models]):
        expect_refused(basalt(*arguments), "is the same file as", "a file of its own")
    expect(basalt(*lu, "--json", "/dev/null", "--trace", "/dev/null").status == 0, basalt(*lu))
    trace = os.path.join(folder, "trace.json")
    expect(basalt(*lu, "--trace", trace).status == 0, basalt(*lu))
    for output in ("--svg", "--json"):
        expect_refused(basalt("trace", trace, output, trace), output, "is the same file as", "FILE = ")
    dat = write_input(folder, hpl_lines("50", line_3="HPL.dat", line_4="8"))
    expect_refused(basalt("hpl", dat, cwd=folder), "HPL.dat:3", "is the same file as FILE")
    dat = write_input(folder, hpl_lines("50", line_3="out", line_4="8"))
    expect_refused(basalt("hpl", dat, "--json", "out", cwd=folder), "HPL.dat:3", "is the same file as --json")
    assert read(a) == read(b) == MATRIX and not os.path.exists(both)
    assert not os.path.exists(os.path.join(folder, "out"))
    assert read(dat).startswith("HPL") and json.loads(read(trace)) and read(models) == MODELS


@test
@in_folder
def empty_names_and_standard_output_are_refused_for_files(folder):
    for name in ("", "-"):
        expect_refused(basalt("solve", "--n", "5", "-o", name, cwd=folder), f'-o = "{name}"', "a file's name")
        expect_refused(basalt("trace", "/dev/null", "--svg", name, cwd=folder), f'--svg = "{name}"', "a file's name")
    expect_refused(basalt("lu", "--n", "5", "--trace", "-", cwd=folder), '--trace = "-"', "a file's name")
    expect_refused(basalt("lu", "--n", "5", env={"BASALT_TRACE": "-"}, cwd=folder), 'BASALT_TRACE = "-"')
    assert os.listdir(folder) == []


@test
@in_folder
def a_result_that_failed_its_check_is_not_called_the_solution(folder):
    x = os.path.join(folder, "x.mtx")
    shown = basalt("solve", "--n", "200", "--matrix", "wilkinson", "-o", x)
    expect(shown.status == 1 and "the result, which failed the check, 200 x 1, is in " + x in shown.out, shown)
    expect("the solution" not in shown.out and os.path.exists(x), shown)
    shown = basalt("solve", "--n", "20", "-o", x)
    expect(shown.status == 0 and f"the solution, 20 x 1, is in {x}" in shown.out, shown)


@test
@in_folder
def an_output_that_is_not_written_keeps_what_it_held(folder):
    singular = write(folder, "s.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n1\n1\n1\n")
    x = write(folder, "x.mtx", "precious")
    expect(basalt("solve", singular, "-o", x).status == 1 and read(x) == "precious", basalt("solve", singular))
    missing = os.path.join(folder, "none.mtx")
    expect_refused(basalt("lu", "--matrix", missing, "--trace", x), "none.mtx: No such file")
    assert read(x) == "precious"
    expect(basalt("solve", "--n", "3", "-o", x).status == 0 and len(read(x).splitlines()) == 5, basalt("info"))


# --- disks that are full, limits -----------------------------------------------------------------------------


def files_of_1_kib():
    """1024 bytes: of the files written here only a solution of few rows or a record fits."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))


def no_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@test
@in_folder
def a_full_disk_costs_the_file_and_nothing_else(folder):
    x = os.path.join(folder, "x")
    full, large = "No space left on device", "File too large"
    lu, solve = ["lu", "--n", "300", "--nb", "16", "--repeat", "2"], ["solve", "--n", "300"]
    for command, option, what in ((lu, "--trace", "the trace"), (lu, "--json", "the record"), (solve, "-o", "the solution"),
                                  (solve, "--trace", "the trace")):
        passed, lines = (2, 3) if command == lu else (1, 1)  # the last line of repeated runs is their median
        for path, limit, reason in (("/dev/full", None, full), (x, no_files, large)):
            shown = basalt(*command, option, path, preexec_fn=limit)
            expect(shown.status == 3 and shown.out.count("passed\n") == passed and shown.out.count("\n") == lines, shown)
            expect(shown.err == f"basalt: {path}: {what} could not be written: {reason}\n", shown)
    shown = basalt(*lu, "--trace", x, "--json", "-", preexec_fn=files_of_1_kib)
    expect(shown.status == 3 and len(json.loads(shown.out)["runs"]) == 2 and x in shown.err, shown)
    shown = basalt(*lu, "--trace", "/dev/full", "--json", "/dev/full")
    expect(shown.status == 3 and "the trace" in shown.err and "the record" in shown.err, shown)
    trace = os.path.join(folder, "trace.json")
    expect(basalt(*lu, "--trace", trace).status == 0, shown)
    shown = basalt("trace", trace, "--svg", "/dev/full")
    expect(shown.status == 3 and "busy share" in shown.out and "/dev/full: the chart" in shown.err, shown)


@test
@in_folder
def a_full_disk_loses_nothing_of_an_hpl_report(folder):
    dat = write_input(folder, hpl_lines("100 90", "32"))
    for option in ("--json", "--trace"):
        for path, limit in (("/dev/full", None), ("x", no_files)):
            shown = basalt("hpl", dat, option, path, preexec_fn=limit, cwd=folder)
            expect(shown.status == 3 and counts(shown.out) == (2, 0, 0), shown)
            expect(shown.out.rstrip().endswith("=") and shown.err.count(path + ": the ") == 1, shown)
    dat = write_input(folder, hpl_lines("100 90", "32", line_3="/dev/full", line_4="8"))
    shown = basalt("hpl", dat)
    expect(shown.status == 3 and counts(shown.out) == (2, 0, 0) and "HPLinpack 2.3" in shown.out, shown)
    expect("/dev/full: the report could not be written: No space left" in shown.err, shown)
    dat = write_input(folder, hpl_lines("100 90", "32", line_3="report", line_4="8"))
    shown = basalt("hpl", dat, preexec_fn=files_of_1_kib, cwd=folder)
    expect(shown.status == 3 and counts(shown.out) == (2, 0, 0), shown)
    assert read(os.path.join(folder, "report")).startswith("=" * 80 + "\nHPLinpack 2.3")


@test
@in_folder
def a_record_after_a_broken_one_begins_a_line(folder):
    """The limit cuts the second record; the next program has room again."""
    path = os.path.join(folder, "records.json")
    expect(basalt("lu", "--n", "9", "--json", path).status == 0, basalt("info"))
    size = os.path.getsize(path)

    def room_for_a_part():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, size + 100))

    dat = write_input(folder, hpl_lines("30 20", "16"))
    shown = basalt("hpl", dat, "--json", path, preexec_fn=room_for_a_part)
    expect(shown.status == 3 and counts(shown.out) == (2, 0, 0), shown)
    assert os.path.getsize(path) == size + 100 and json.loads(read(path).splitlines()[0])["n"] == 9


# --- closed standard streams ---------------------------------------------------------------------------------


def with_closed(descriptors, *arguments):
    """Runs the program with these descriptors closed; the others are pipes."""
    def close():
        for descriptor in descriptors:
            os.close(descriptor)

    process = subprocess.run([PROGRAM, *arguments], env=environment({}), stdin=subprocess.DEVNULL, timeout=120,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=close, check=False)
    return process.returncode, process.stdout.decode(), process.stderr.decode()


@test
@in_folder
def lines_for_a_closed_stream_do_not_end_up_in_files(folder):
    lu, solve = ["lu", "--n", "40", "--verbose"], ["solve", "--n", "4", "--verbose"]
    for closed in ([0], [1], [2], [0, 1], [1, 2], [0, 2], [0, 1, 2]):
        json_path, trace, x = (os.path.join(folder, name) for name in ("j", "t", "x"))
        status, out, err = with_closed(closed, *lu, "--json", json_path)
        assert status == (3 if 1 in closed else 0), (closed, status, err)
        assert ("standard output could not be written" in err) == (1 in closed and 2 not in closed), err
        assert (out.count("passed") == 1) == (1 not in closed), out
        assert json.loads(read(json_path))["routine"] == "getrf"
        with_closed(closed, *lu, "--trace", trace)
        assert any(event["ph"] == "X" for event in json.loads(read(trace))["traceEvents"])
        with_closed(closed, *solve, "-o", x)
        assert read(x).splitlines()[:2] == ["%%MatrixMarket matrix array real general", "4 1"]
        assert len(read(x).splitlines()) == 6
        with_closed(closed, "lu", "--n", "40", "--taste", "3", "--json", json_path)
        os.remove(json_path)
    dat = write_input(folder, hpl_lines("30", "16", line_3=x, line_4="8"))
    for closed in ([1], [2], [1, 2]):
        with_closed(closed, "hpl", dat, "--verbose")
        assert read(x).startswith("====") and counts(read(x)) == (1, 0, 0) and "basalt" not in read(x)


# --- signals, --help, the progress bar -----------------------------------------------------------------------


@test
def the_exit_status_tells_the_signal():
    for sent, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        process = subprocess.Popen([PROGRAM, "lu", "--n", "300", "--repeat", "1000000"], env=environment({}),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stdout.readline()
        process.send_signal(sent)
        err = process.communicate(timeout=60)[1]
        assert process.returncode == status and "interrupted after" in err, (process.returncode, err)
        assert err.count("\n") == 1, err


@test
@in_folder
def an_interrupted_hpl_says_143_too(folder):
    dat = write_input(folder, hpl_lines(" ".join(["400"] * 20), "32", line_14="1", line_17="4", line_18="1 2 4 8"))
    process = subprocess.Popen([PROGRAM, "hpl", dat], env=environment({}), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    while "PASSED" not in process.stdout.readline():
        pass
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 143 and "interrupted after" in err and "End of Tests" in out, (out, err)


@test
def a_bad_variable_does_not_keep_help_from_working():
    for env in ({"BASALT_NB": "x"}, {"BASALT_COLOUR": "grey"}):
        for arguments in (["--help"], ["lu", "--help"], ["--version"], ["hpl", "--version"]):
            shown = basalt(*arguments, env=env)
            expect(shown.status == 0 and shown.out != "" and shown.err == "", shown)
        expect_refused(basalt("lu", "--nb", "8", "--n", "9", env=env), *env)
        expect_refused(basalt(env=env), *env)


@test
def the_progress_bar_fits_the_terminal():
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    process = subprocess.Popen([PROGRAM, "lu", "--n", "100", "--repeat", "1000000", "--no-check"], env=environment({}),
                               stdin=its, stdout=its, stderr=its)
    os.close(its)
    text, end = "", time.monotonic() + 60
    while time.monotonic() < end and text.count(" % ") + text.count(" %,") < 3:
        text += os.read(ours, 4096).decode()
    process.send_signal(signal.SIGTERM)
    while process.poll() is None:
        try:
            text += os.read(ours, 4096).decode()
        except OSError:  # it has closed its side
            break
    os.close(ours)
    assert process.wait(60) == 143
    bars = re.findall(r"\r\x1b\[K(\[[^\r\n\x1b]*)", text)
    assert bars and all(len(bar) < 40 for bar in bars), bars


main()
