"""The program under limits of the system: it says what lacks and ends with status 3, and never hangs."""

import os
import re
import resource
import stat
import subprocess

from program import PROGRAM, Skipped, basalt, expect, main, soak, test

MIB = 1 << 20
# A run takes less than a second; a hang would take for ever.
PATIENCE = 60


def under(limit, value):
    """Options of subprocess.run: the program runs under that limit."""
    return {"preexec_fn": lambda: resource.setrlimit(limit, (value, value)), "timeout": PATIENCE}


def plain_user():
    """Options of subprocess.run: the program runs as a user who has no other process."""
    if os.geteuid() != 0:
        raise Skipped("RLIMIT_NPROC counts all processes of the user: needs root, to run the program as another user")
    # a number that no account has, another one in each process that runs these tests
    user = {"user": 400_000 + os.getpid(), "group": 400_000 + os.getpid(), "extra_groups": [], "cwd": "/"}
    folder = PROGRAM
    while folder != "/":
        folder = os.path.dirname(folder)
        if not os.stat(folder).st_mode & stat.S_IXOTH:
            raise Skipped(f"{folder} is closed to other users, so none can run the program")
    try:
        basalt("--version", **user)
    except (OSError, subprocess.SubprocessError) as error:  # as in a user namespace with few users
        raise Skipped(f"the program cannot be run as another user: {error}") from error
    return user


def check_ended(shown, *words):
    """It did what it was asked to, or could not and says why."""
    expect(shown.status in (0, 3), shown)
    if shown.status == 0:
        expect(" passed" in shown.out, shown)
    else:
        # what OpenBLAS prints itself comes before it
        last = shown.err.rstrip("\n").split("\n")[-1]
        expect(shown.out == "" and last.startswith("basalt: ") and any(word in last for word in words), shown)


def check_thread_limits(limits):
    user = plain_user()
    statuses = {}
    for mode, more in (("cpu", []), ("hybrid", ["--emulated-gpus", "2"]), ("gpu", ["--emulated-gpus", "1"])):
        for limit in limits:
            shown = basalt("lu", "--n", "200", "--cpus", "3", "--mode", mode, *more,
                           **{**user, **under(resource.RLIMIT_NPROC, limit)})
            check_ended(shown, "OpenBLAS could not start its threads", "could not start the thread")
            if "could not start the thread" in shown.err:
                expect(re.search(r"thread (of|that) .*; limits: .*RLIMIT_NPROC = %d processes" % limit, shown.err), shown)
            statuses[mode, limit] = shown.status
        assert statuses[mode, limits[0]] == 3 and statuses[mode, limits[-1]] == 0, statuses


@test
def a_thread_that_cannot_start_ends_the_program_with_a_message():
    check_thread_limits([1, 4, 7, 12, 500])


@soak
def no_limit_on_threads_makes_the_program_hang():
    check_thread_limits([*range(1, 60), 500])


def check_address_space_limits(limits, commands):
    for command in commands:
        statuses = []
        for limit in limits:
            shown = basalt(*command, "--cpus", "2", **under(resource.RLIMIT_AS, limit * MIB))
            if shown.status == 127 and "error while loading shared libraries" in shown.err:
                continue  # not yet in the program
            check_ended(shown, "OpenBLAS", "RLIMIT_AS", "out of memory", "address space")
            statuses.append(shown.status)
        assert 3 in statuses and statuses[-1] == 0, (command, statuses)


COMMANDS = [["lu", "--n", "1000"], ["qr", "--n", "700"]]


@test
def too_little_address_space_ends_the_program_with_a_message():
    check_address_space_limits([400, 700, 820, 1100, 1500, 16000], COMMANDS)


@soak
def no_limit_on_address_space_makes_the_program_hang():
    check_address_space_limits([*range(200, 3000, 8), 16000],
                               [*COMMANDS, ["cholesky", "--n", "700"],
                                ["lu", "--n", "400", "--mode", "gpu", "--emulated-gpus", "1"]])


@test
def a_program_without_address_space_for_openblas_still_prints_its_version():
    # A program that does not fit itself is killed before it begins; kernels for many GPUs take more than 100 MiB.
    program = os.path.getsize(PROGRAM)
    for further in (100, 160, 220, 400, 700, 1100, 16000):
        shown = basalt("--version", **under(resource.RLIMIT_AS, program + further * MIB))
        expect(shown.status == 0 and shown.out.startswith("basalt ") or
               shown.status == 127 and "error while loading shared libraries" in shown.err, shown)


@test
def a_machine_description_that_hwloc_cannot_read_is_named():
    for command in (["lu", "--n", "100"], ["info"]):
        shown = basalt(*command, env={"HWLOC_XMLFILE": "/dev/null"})
        # hwloc with its libxml plugin ignores such a file and looks at the machine itself
        expect(shown.status == 0 or shown.status == 3 and
               "hwloc cannot read the machine; it goes by HWLOC_XMLFILE=/dev/null" in shown.err, shown)


main()
