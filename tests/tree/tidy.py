"""Runs clang-tidy with the checks of .clang-tidy over the library and the program; any finding fails.

usage: tidy.py SOURCE_ROOT BUILD_DIRECTORY CLANG_TIDY quick|slow    an empty CLANG_TIDY: skipped

slow: one check that searches all of a file for each parameter, four times as long as all others together, and two more
that take a fifth of the others' time.
quick: the others.

It reads BUILD_DIRECTORY/compile_commands.json. Sources that are compiled by the same command share one parse of their
headers, which takes a small part of the time. In a unity build (./run makes one) they may: no two have the same names.
"""

import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

TARGETS = ("libbasalt_", "basalt.p/", "basalt-hpl.p/", "kernels/cpu/simd/", "lapack/libbasalt_lapack")
FINDING = re.compile(r"^(?P<place>[^\s:][^:]*:\d+:\d+): (?:warning|error): (?P<what>.*)$", re.MULTILINE)


UNITY = re.compile(r"-unity\d+\.cpp$")
SLOW = ("performance-unnecessary-value-param", "bugprone-reserved-identifier", "bugprone-stringview-nullptr")
TOGETHER = 80  # sources that share a parse: more take more memory than a small machine has for each core


def arguments(command):
    """What the compiler is told apart from the file, its output and its dependencies."""
    words = iter(shlex.split(command["command"]))
    next(words)
    kept = []
    for word in words:
        if word in ("-o", "-c", "-MF", "-MQ"):
            next(words)
        elif not word.startswith("-M") and word != "-fdiagnostics-color=always":
            kept.append(word)
    return kept[1:] if kept and not kept[0].startswith("-") else kept  # after a compiler cache comes the compiler


def sources_in(unity_file):
    with open(unity_file, encoding="utf-8") as file:
        return sum(line.startswith("#include") for line in file)


def groups(build):
    """Lists of files and the arguments that they share."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    alike = {}
    for command in commands:
        if command["output"].startswith(TARGETS) and command["file"].endswith(".cpp"):
            alike.setdefault((command["output"].split(".p/")[0], tuple(arguments(command))), []).append(command["file"])
    for (_, shared), files in alike.items():
        unity = all(UNITY.search(file) for file in files)
        parts = -(-sum(sources_in(os.path.join(build, file)) for file in files) // TOGETHER) if unity else len(files)
        parts = min(parts, len(files))
        for part in range(parts):
            yield files[part::parts], shared


def findings(tidy, checks, build, root, scratch, group):
    """What clang-tidy says of one group: (place, message) pairs."""
    files, shared = group
    source = os.path.join(scratch, f"{abs(hash(tuple(files)))}.cpp")
    with open(source, "w", encoding="utf-8") as file:
        file.writelines(f'#include "{os.path.join(build, name)}"\n' for name in files)
    call = [tidy, "--quiet", f"--config-file={root}/.clang-tidy", f"--checks={checks}",
            f"--extra-arg-before=-include{root}/tests/tree/source_location.hpp",
            "--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-unused-command-line-argument", source, "--",
            *shared]
    done = subprocess.run(call, cwd=build, capture_output=True, text=True, check=False)
    found = [(os.path.relpath(os.path.realpath(os.path.join(build, match["place"])), os.path.realpath(root)), match["what"])
             for match in FINDING.finditer(done.stdout)]
    if done.returncode != 0 and not found:
        found = [(" ".join(files), f"clang-tidy failed: {done.stderr.strip()[-2000:]}")]
    return found


def main():
    if len(sys.argv) != 5 or sys.argv[4] not in ("quick", "slow"):
        sys.exit(__doc__)
    root, build, tidy, which = sys.argv[1:]
    if not tidy:
        print("skipped: there is no clang-tidy")
        sys.exit(77)
    # A file that includes sources is what this is about.
    checks = ",".join(["-*", *SLOW] if which == "slow" else [f"-{check}" for check in (*SLOW, "bugprone-suspicious-include")])
    checked = list(groups(build))
    if not checked:
        sys.exit(f"{build}/compile_commands.json names no source of the library")
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda group: findings(tidy, checks, build, root, scratch, group), checked)
        found = sorted({finding for result in results for finding in result})
    for place, what in found:
        print(f"{place}: {what}")
    print(f"{sum(len(files) for files, _ in checked)} files checked, {len(found)} findings")
    sys.exit(1 if found else 0)


main()
